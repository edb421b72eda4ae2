"""`reset`: restores the starter code of one question, and saves the student's version."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.files import atomic_path
from grader.notebooks.reader import Document, DocumentCell, read_document
from grader.student.notebook import Question, StudentNotebook
from grader.text import file_name, terminal_text

_INDENTATION = re.compile(r"\s*\{\r?\n([ \t]+)")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class Reset:
    """The changes of a notebook."""

    question: Question
    starter_cell: DocumentCell  # of the released notebook
    cell: DocumentCell | None  # the cell that it replaces; None if it must be inserted
    others: tuple[int, ...]  # numbers of code cells that define the same name and stay
    content: bytes  # the text of the file afterwards

    @property
    def is_needed(self) -> bool:
        """Whether the cell differs from the starter code."""
        return self.cell is None or self.cell.source.strip("\n") != self.starter_cell.source.strip("\n")

    @property
    def later(self) -> tuple[int, ...]:
        """Other cells that define the name and run after this one: the last of them counts."""
        number = self.cell.number if self.cell else 0
        return tuple(other for other in self.others if other > number)


def plan(notebook: StudentNotebook, question: Question) -> Reset:
    """Plan the changes that restore a question's starter code.

    Raises:
        GraderError: the released notebook is not near, or this one cannot be changed safely.
    """
    starter, document = question.starter_cell, notebook.document
    if notebook.released is None or starter is None:
        raise GraderError(
            f"the starter code of {question.id} of {notebook.name} was not found: put the notebook that you"
            " were given into a folder .handout beside yours, then reset again."
        )
    encoding = json.detect_encoding(document.content)
    try:
        text = document.content.decode(encoding)
    except UnicodeDecodeError:  # bytes of other cells would change, too
        text = "{}"
    content = json.loads(text)
    cells = content.get("cells")
    if not isinstance(cells, list):
        raise GraderError(
            f"{notebook.name} is not in the form that Jupyter writes today: open it there, save it, and reset"
            " again."
        )
    cell = notebook.cell_of(question)
    lines = starter.source.strip("\n").splitlines(keepends=True)
    if cell is None:
        new: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
        if starter.id and any(other.id for other in document.cells):
            new["id"] = starter.id
        cells.insert(_place(document, notebook.released, starter), {**new, "source": lines})
    else:
        is_text = isinstance(cells[cell.index].get("source"), str)
        cells[cell.index]["source"] = "".join(lines) if is_text else lines
    others = tuple(other.number for other in notebook.cells_defining(question) if other != cell)
    return Reset(question, starter, cell, others, _laid_out_as(text, content).encode(encoding))


def carry_out(notebook: StudentNotebook, reset: Reset) -> Path | None:
    """Save the student's version in a file beside the notebook, then change the cell.

    Returns the file, or None if there was nothing to save.

    Raises:
        GraderError: a file cannot be written, or another program has just saved the notebook.
    """
    document = notebook.document
    try:
        saved = _save(document.path, reset)
        with atomic_path(document.path) as new:
            new.write_bytes(reset.content)
            shutil.copymode(document.path, new)
            if read_document(document.path).notebook.sha256 != document.notebook.sha256:
                raise GraderError(
                    f"{notebook.name} was saved meanwhile, so nothing was changed: reset again."
                )
    except OSError as error:
        name = terminal_text(str(error.filename or document.path))
        raise GraderError(f"{name} cannot be written ({error.strerror}): nothing was changed.") from error
    return saved


def _place(document: Document, released: Document, starter: DocumentCell) -> int:
    """The place of a deleted cell: below the nearest cell above it that still exists."""
    for before in reversed(released.cells[: starter.index]):
        for cell in document.cells:
            if (before.id and cell.id == before.id) or (before.source and cell.source == before.source):
                return cell.index + 1
    return len(document.cells)


def _laid_out_as(text: str, content: Any) -> str:
    """JSON with the same indentation and line ends as another text."""
    indentation = _INDENTATION.match(text)
    changed = json.dumps(
        content,
        indent=indentation[1] if indentation else None,
        ensure_ascii=_SURROGATE.search(text) is not None,  # a lone surrogate cannot be encoded
    )
    ending = "\n" if text.endswith("\n") else ""
    return (changed + ending).replace("\n", "\r\n" if "\r\n" in text else "\n")


def _save(path: Path, reset: Reset) -> Path | None:
    """Write the student's version to a new file, unless a file from an earlier reset contains it."""
    if reset.cell is None or not reset.cell.source.strip():
        return None
    content = (reset.cell.source.rstrip("\n") + "\n").encode()
    number = 1
    while True:
        ending = ".py" if number == 1 else f"-{number}.py"
        saved = path.with_name(file_name(f"{path.stem}.{reset.question.id}.before-reset{ending}"))
        with suppress(FileExistsError), saved.open("xb") as file:
            file.write(content)
            return saved
        if saved.is_file() and saved.read_bytes() == content:
            return saved
        number += 1
