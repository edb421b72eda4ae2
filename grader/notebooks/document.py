"""A student's notebook, with all its cells and the public checks it carries; nothing is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.notebooks.file import read_file
from grader.notebooks.reader import Notebook, parse_notebook
from grader.text import encodable


@dataclass(frozen=True)
class DocumentCell:
    """A cell of any kind.

    Attributes:
        place: its index among all cells.
        number: its number among the code cells, counted from 1 as in feedback; 0 where it holds no code.
        id: its id in format 4.5, else "".
        source: its text, lines ending as Python's do.
    """

    place: int
    number: int
    id: str
    source: str


@dataclass(frozen=True)
class Document:
    """A notebook as it lies on the disk.

    Attributes:
        text: its JSON, exactly; None where its bytes are not the text they claim to be.
        notebook: its code cells, and the assignment it claims.
        cells: all its cells; none in the old format 3.
        is_old: whether it has format 3, in which cells lie on worksheets.
        tests: the public checks in its metadata, by the question's id.
    """

    path: Path
    text: str | None
    encoding: str
    notebook: Notebook
    cells: tuple[DocumentCell, ...]
    is_old: bool
    tests: Mapping[str, str]


def read_document(path: Path) -> Document:
    """Read a notebook.

    Raises:
        NotebookError: it cannot be read or is no notebook.
    """
    file = read_file(path)
    notebook = parse_notebook(file)
    encoding = json.detect_encoding(file.content)
    try:
        text = file.content.decode(encoding)
    except UnicodeDecodeError:
        text = None
    document = json.loads(text if text is not None else file.content.decode(encoding, "replace"))
    cells = tuple(_cells(document, notebook))
    is_old = not (isinstance(document, dict) and isinstance(document.get("cells"), list))
    return Document(path, text, encoding, notebook, cells, is_old, _tests(document))


def _cells(document: Any, notebook: Notebook) -> list[DocumentCell]:
    raw = document.get("cells") if isinstance(document, dict) else None
    cells: list[DocumentCell] = []
    code = iter(notebook.cells)
    for index, cell in enumerate(raw if isinstance(raw, list) else []):
        fields = cell if isinstance(cell, dict) else {}
        identity = fields.get("id")
        identity = identity if isinstance(identity, str) else ""
        if fields.get("cell_type") == "code":
            of_code = next(code)
            cells.append(DocumentCell(index, of_code.number, identity, of_code.source))
        else:
            cells.append(DocumentCell(index, 0, identity, _text(fields.get("source"))))
    return cells


def _text(source: Any) -> str:
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    return encodable(source).replace("\r\n", "\n") if isinstance(source, str) else ""


def _tests(document: Any) -> dict[str, str]:
    match document:
        case {"metadata": {"otter": {"tests": dict() as tests}}}:
            return {name: source for name, source in tests.items() if isinstance(source, str)}
    return {}
