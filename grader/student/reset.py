"""`reset`: puts the cell of one question back as it was handed out, and loses nothing."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.files import atomic_path
from grader.notebooks.definitions import defines
from grader.notebooks.document import Document, DocumentCell, read_document
from grader.student.notebook import Question, StudentNotebook
from grader.text import file_name, terminal_text

_INDENTATION = re.compile(r"\s*\{\r?\n([ \t]+)")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class Reset:
    """What changes in a notebook."""

    question: Question
    stub: DocumentCell  # the cell that comes back
    cell: DocumentCell | None  # the cell that it replaces; None where it has to be inserted
    others: tuple[int, ...]  # numbers of code cells that define the same name and stay
    index: int  # of the cell among all cells

    @property
    def is_needed(self) -> bool:
        """Whether the cell differs from the stub."""
        return self.cell is None or self.cell.source.strip("\n") != self.stub.source.strip("\n")

    @property
    def later(self) -> tuple[int, ...]:
        """The others that run after the cell: the last of them counts."""
        number = self.cell.number if self.cell else 0
        return tuple(other for other in self.others if other > number)


def plan(notebook: StudentNotebook, question: Question) -> Reset:
    """What to change so that a question is as it was handed out.

    The question's cell is known by its id; without an id it is the last that defines the name.

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
    defining = [cell for cell in document.cells if cell.number and defines(cell.source, question.function)]
    of_the_id = [cell for cell in document.cells if cell.number and cell.id and cell.id == question.stub.id]
    cell = next(iter(of_the_id), None) or next(reversed(defining), None)
    others = tuple(other.number for other in defining if other != cell)
    index = cell.index if cell else _index(document, notebook.handed_out, question.stub)
    return Reset(question, question.stub, cell, others, index)


def carry_out(notebook: StudentNotebook, reset: Reset) -> Path | None:
    """Keep the student's version in a file beside the notebook, then change that cell.

    Returns the file, or None where there was nothing to keep.

    Raises:
        GraderError: a file cannot be written, or another program has just saved the notebook.
    """
    document = notebook.document
    changed = _changed(document, reset)
    try:
        kept = _keep(document.path, reset)
        with atomic_path(document.path) as new:
            new.write_bytes(changed.encode(document.encoding))
            shutil.copymode(document.path, new)
            if read_document(document.path).notebook.sha256 != document.notebook.sha256:
                raise GraderError(
                    f"{notebook.name} was saved meanwhile, so nothing was changed: reset again."
                )
    except OSError as error:
        name = terminal_text(str(error.filename or document.path))
        raise GraderError(f"{name} cannot be written ({error.strerror}): nothing was changed.") from error
    return kept


def _changed(document: Document, reset: Reset) -> str:
    """The notebook's JSON with that cell changed."""
    text = document.text or ""
    content = json.loads(text)
    lines = reset.stub.source.strip("\n").splitlines(keepends=True)
    if reset.cell is None:
        cell: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
        if reset.stub.id and any(other.id for other in document.cells):
            cell["id"] = reset.stub.id
        content["cells"].insert(reset.index, {**cell, "source": lines})
    else:
        cell = content["cells"][reset.cell.index]
        cell["source"] = "".join(lines) if isinstance(cell.get("source"), str) else lines
    return _laid_out_as(text, content)


def _laid_out_as(text: str, content: Any) -> str:
    """JSON with the indentation and the line ends of another text."""
    indentation = _INDENTATION.match(text)
    changed = json.dumps(
        content,
        indent=indentation[1] if indentation else None,
        ensure_ascii=_SURROGATE.search(text) is not None,  # a lone surrogate cannot be encoded
    )
    ending = "\n" if text.endswith("\n") else ""
    return (changed + ending).replace("\n", "\r\n" if "\r\n" in text else "\n")


def _keep(path: Path, reset: Reset) -> Path | None:
    """Write the student's version into a new file, unless a file of an earlier reset holds it."""
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


def _index(document: Document, handed_out: Document, stub: DocumentCell) -> int:
    """Where a cell that is gone belongs: below the nearest cell that stood above it and is still there."""
    for before in reversed(handed_out.cells[: stub.index]):
        for cell in document.cells:
            if (before.id and cell.id == before.id) or (before.source and cell.source == before.source):
                return cell.index + 1
    return len(document.cells)
