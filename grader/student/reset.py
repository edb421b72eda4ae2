"""On a student's machine: puts the cell of one question back as it was handed out, and loses nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.files import atomic_path
from grader.notebooks.bindings import binds
from grader.notebooks.document import Document, DocumentCell, read_document
from grader.notebooks.json_text import inserted, items, members, replaced, whole
from grader.student.notebook import Question, StudentNotebook
from grader.text import file_name, inert


@dataclass(frozen=True)
class Reset:
    """What is to happen to a notebook.

    Attributes:
        question: the question.
        stub: the text that comes back.
        cell: the cell that is replaced, or None where one has to be inserted.
        others: code cells that define the same name and stay, by number.
        place: where the cell goes among all cells, counted from 0.
    """

    question: Question
    stub: str
    cell: DocumentCell | None
    others: tuple[int, ...]
    place: int

    @property
    def is_needed(self) -> bool:
        """Whether the cell says anything else than the stub."""
        return self.cell is None or self.cell.source.strip("\n") != self.stub.strip("\n")

    @property
    def later(self) -> tuple[int, ...]:
        """Those of the others that run after the cell, so that theirs is what counts."""
        number = self.cell.number if self.cell else 0
        return tuple(other for other in self.others if other > number)


def plan(notebook: StudentNotebook, question: Question) -> Reset:
    """What to do to a notebook so that a question is as it was handed out.

    The question's own cell is known by its id; without one it is the last that defines the name, which is the
    one that counts.

    Raises:
        GraderError: the notebook as handed out is not near, or this one cannot be changed safely.
    """
    if notebook.handed_out is None or question.stub is None:
        raise GraderError(
            f"how {question.id} of {notebook.name} was handed out is not known here: put the notebook you"
            " were given into a folder .handout beside yours, then reset again."
        )
    document = notebook.document
    if document.text is None or document.is_old:
        raise GraderError(
            f"{notebook.name} is not in the form that Jupyter writes today: open it there, save it, and reset"
            " again."
        )
    defining = [cell for cell in document.cells if cell.number and binds(cell.source, question.function)]
    own = [cell for cell in document.cells if cell.number and cell.id and cell.id == question.stub.id]
    cell = next(iter(own), None) or next(reversed(defining), None)
    others = tuple(other.number for other in defining if other != cell)
    place = cell.place if cell else _place(document, notebook.handed_out, question)
    return Reset(question, question.stub.source, cell, others, place)


def carry_out(notebook: StudentNotebook, reset: Reset) -> Path | None:
    """Keep the student's version in a file beside the notebook, then change that one cell.

    Returns:
        The file that keeps it, or None where there was nothing to keep.

    Raises:
        GraderError: a file cannot be written, or somebody else has just changed the notebook.
    """
    document = notebook.document
    changed = _changed(document, reset)
    try:
        kept = _keep(document.path, reset)
        with atomic_path(document.path) as place:
            place.write_bytes(changed.encode(document.encoding))
            shutil.copymode(document.path, place)
            if read_document(document.path).notebook.sha256 != document.notebook.sha256:
                raise GraderError(
                    f"{notebook.name} was saved meanwhile, so nothing was changed: reset again."
                )
    except OSError as error:
        name = inert(str(error.filename or document.path))
        raise GraderError(f"{name} cannot be written ({error.strerror}): nothing was changed.") from error
    return kept


def _changed(document: Document, reset: Reset) -> str:
    text = document.text or ""
    cells = members(text, whole(text))["cells"]
    lines = reset.stub.strip("\n").splitlines(keepends=True)
    if reset.cell is None:
        has_ids = any(cell.id for cell in document.cells)
        identity = (
            {"id": reset.question.stub.id}
            if has_ids and reset.question.stub and reset.question.stub.id
            else {}
        )
        new: dict[str, Any] = {
            "cell_type": "code",
            "execution_count": None,
            **identity,
            "metadata": {},
            "outputs": [],
            "source": lines,
        }
        return inserted(text, cells, reset.place, new)
    source = members(text, items(text, cells)[reset.cell.place])["source"]
    was_text = text[source.begin] == '"'
    return replaced(text, source, "".join(lines) if was_text else lines)


def _keep(path: Path, reset: Reset) -> Path | None:
    """Write the student's version under a name that nothing has yet, but the same one only once."""
    if reset.cell is None or not reset.cell.source.strip():
        return None
    content = (reset.cell.source.rstrip("\n") + "\n").encode()
    for candidate in _names(path, reset.question.id):
        try:
            with candidate.open("xb") as file:
                file.write(content)
        except FileExistsError:
            if candidate.is_file() and candidate.read_bytes() == content:
                return candidate
        else:
            return candidate
    raise AssertionError("names never end")


def _names(path: Path, question: str) -> Iterator[Path]:
    for number in count(1):
        again = f"-{number}" if number > 1 else ""
        yield path.with_name(file_name(f"{path.stem}.{question}.before-reset{again}.py"))


def _place(document: Document, handed_out: Document, question: Question) -> int:
    """Where a cell that is gone belongs: below the nearest cell above it that is still there."""
    stub = question.stub.place if question.stub else 0
    for before in reversed(handed_out.cells[:stub]):
        for cell in document.cells:
            if (before.id and cell.id == before.id) or (before.source and cell.source == before.source):
                return cell.place + 1
    return len(document.cells)
