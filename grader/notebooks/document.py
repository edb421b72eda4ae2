"""A student's notebook, with all its cells and the public checks it carries; nothing is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.notebooks.files import read_file
from grader.notebooks.reader import Notebook, json_of, notebook_in
from grader.text import utf8_text


@dataclass(frozen=True)
class DocumentCell:
    """A cell of any kind."""

    index: int  # among all cells
    number: int  # among the code cells, counted from 1 as in feedback; 0 where it holds no code
    id: str  # in format 4.5, else ""
    source: str  # its lines end with a newline


@dataclass(frozen=True)
class Document:
    """A notebook as it lies on the disk."""

    path: Path
    content: bytes  # of the file
    notebook: Notebook  # its code cells, and the assignment it claims
    cells: tuple[DocumentCell, ...]  # all its cells; none in the old format 3, where they lie on worksheets
    tests: Mapping[str, str]  # the public checks in its metadata, by the question's id


def read_document(path: Path) -> Document:
    """Read a notebook.

    Raises:
        NotebookError: it cannot be read or is no notebook.
    """
    file = read_file(path)
    document = json_of(file)
    notebook = notebook_in(document, file)
    raw = document.get("cells")  # an object, or `notebook_in` had refused it
    cells = tuple(_cells(raw, notebook)) if isinstance(raw, list) else ()
    return Document(path, file.content, notebook, cells, _tests(document))


def _cells(raw: list[Any], notebook: Notebook) -> Iterator[DocumentCell]:
    code = iter(notebook.cells)
    for index, cell in enumerate(raw):
        fields = cell if isinstance(cell, dict) else {}
        identity = fields["id"] if isinstance(fields.get("id"), str) else ""
        if fields.get("cell_type") == "code":
            of_code = next(code)
            yield DocumentCell(index, of_code.number, identity, of_code.source)
        else:
            yield DocumentCell(index, 0, identity, _text(fields.get("source")))


def _text(source: Any) -> str:
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    return utf8_text(source).replace("\r\n", "\n") if isinstance(source, str) else ""


def _tests(document: Any) -> dict[str, str]:
    match document:
        case {"metadata": {"otter": {"tests": dict() as tests}}}:
            return {name: source for name, source in tests.items() if isinstance(source, str)}
    return {}
