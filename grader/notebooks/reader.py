"""The cells of a notebook, read as data, and its public checks.

Nothing in a notebook is validated, parsed as Python, run or believed. Real notebooks (Colab's, VS Code's, old
tools') break the schema in many ways, and hostile ones are made to exhaust the reader. So the cells come from
the JSON itself, by the two shapes that formats 3 and 4 give them, and everything that could grow has a cap.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.notebooks.files import CLEAR_OUTPUTS, Kind, NotebookError, NotebookFile, read_file
from grader.text import utf8_text

MAX_OTHER_ENCODING_BYTES = 16 * 1024**2  # broken UTF-16 takes a hundred times as long to decode as UTF-8
MAX_CODE_CELLS = 5_000
MAX_CELL_BYTES = 1024**2
MAX_SOURCE_BYTES = 16 * 1024**2
# A JSON value of two bytes takes up to a hundred in memory: without this cap a file of the permitted size
# would take the machine down. Fifty megabytes of ordinary outputs stay below it.
MAX_JSON_MARKS = 8_000_000
MAX_MARKS = 30_000_000  # with those inside texts, which take seconds to tell apart

_SAVE_AGAIN = (
    "It may have been cut off on its way: look whether it opens in Jupyter, save it and submit it again."
)
_CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)
# Files of other kinds under a notebook's name: how the text begins, what it is, what to do.
_OTHER_FILES = (
    (re.compile("PK\x03\x04"), "a ZIP archive", "Unpack it and submit the notebook."),
    (
        re.compile(r"\s*+<(?:!doctype|html)", re.IGNORECASE),
        "a web page",
        "Download the notebook itself and submit it.",
    ),
    (re.compile(r"%PDF-"), "a PDF", "Submit the notebook it was made from."),
)
_LFS_POINTER = re.compile(r"version https://(?:git-lfs|hawser)\.github\.com/spec/")
# The closing quote is optional: a search for one that is missing would start again at every escaped quote.
_JSON_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


@dataclass(frozen=True)
class Cell:
    """The source of a code cell, and its number among the code cells, counted from 1."""

    number: int
    source: str


def cells_of(sources: Iterable[str]) -> tuple[Cell, ...]:
    """The code cells with these sources, numbered in their order."""
    return tuple(Cell(number, source) for number, source in enumerate(sources, start=1))


@dataclass(frozen=True)
class Notebook:
    """The code cells of a notebook."""

    sha256: str  # of its file
    cells: tuple[Cell, ...]
    assignment: str | None  # that its metadata claims


def read_notebook(path: Path) -> Notebook:
    """Read the code cells of a notebook of format 3 or 4, whatever else is missing or wrong.

    Lines end with a newline; NUL characters and lone surrogates are replaced. An empty code cell counts as a
    cell. Never blocks and never follows a link.

    Raises:
        NotebookError: the file cannot be read, is no notebook or exceeds a cap.
    """
    return parse_notebook(read_file(path))


def parse_notebook(file: NotebookFile) -> Notebook:
    """The same for a file that was read.

    Raises:
        NotebookError: the file is no notebook or exceeds a cap.
    """
    try:
        return notebook_in(json_of(file), file)
    except NotebookError as error:
        error.sha256 = file.sha256
        raise


def notebook_in(document: Any, file: NotebookFile) -> Notebook:
    """The notebook that the JSON value of a file describes.

    Raises:
        NotebookError: it has no list of cells, or exceeds a cap.
    """
    sources = _read_sources(_find_cells(document, file.name), file.name)
    claimed = None
    match document:
        case {"metadata": {"otter": {"assignment_name": str(stem)}}} if len(stem) <= 255:
            claimed = utf8_text(stem)
    return Notebook(file.sha256, cells_of(sources), claimed)


def json_of(file: NotebookFile) -> Any:
    """The JSON value of a file, with bounded effort.

    Raises:
        NotebookError: it holds another kind of text, or exceeds a cap.
    """
    name, encoding = file.name, json.detect_encoding(file.content)
    if not encoding.startswith("utf-8") and len(file.content) > MAX_OTHER_ENCODING_BYTES:
        raise NotebookError(f"{name} is {encoding} and large.", "Save it as UTF-8 and submit it again.")
    text = file.content.decode(encoding, "replace")
    if not text or text.isspace():
        raise NotebookError(
            f"{name} is empty.", "Submit the notebook you worked in, after saving it.", "empty"
        )
    if _has_too_many_values(text):
        raise NotebookError(f"{name} holds millions of values beside its code.", CLEAR_OUTPUTS, "too large")
    kind: Kind = "damaged"
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        _require_no_other_file(text, name)
        conflict = _CONFLICT.search(text)
        reason = f"its text is not JSON (line {error.lineno})"
        if conflict:
            line = text.count("\n", 0, conflict.start()) + 1
            kind, reason = "merge conflict", f"Git left the markers of a merge conflict in it (line {line})"
    except (RecursionError, MemoryError):
        reason = "its JSON is nested too deeply or too large"
    except ValueError:
        reason = "its JSON holds a number of thousands of digits"
    raise NotebookError(f"{name} is not a notebook: {reason}.", _SAVE_AGAIN, kind)


def _require_no_other_file(text: str, name: str) -> None:
    """Refuse a file that is of another kind, or only stands for the notebook.

    Raises:
        NotebookError: it is one.
    """
    if _LFS_POINTER.match(text):
        raise NotebookError(
            f"{name} is a Git LFS pointer, not the notebook: run `git lfs pull` in the clone, and collect"
            " again."
        )
    for beginning, what, advice in _OTHER_FILES:
        if beginning.match(text):
            raise NotebookError(f"{name} is {what}, not a notebook.", advice)


def _has_too_many_values(text: str) -> bool:
    """Whether brackets, commas and colons announce more values than a notebook may have."""
    marks = sum(map(text.count, "[{,:"))
    if not MAX_JSON_MARKS < marks <= MAX_MARKS:
        return marks > MAX_MARKS
    return sum(map(_JSON_STRING.sub("", text).count, "[{,:")) > MAX_JSON_MARKS


def _find_cells(document: Any, name: str) -> list[Any]:
    """The cells of format 4, or those of format 3, which lie on worksheets."""
    match document:
        case {"cells": [*cells]}:
            return cells
        case {"worksheets": [*sheets]}:
            lists = (sheet.get("cells") for sheet in sheets if isinstance(sheet, dict))
            return [cell for of_sheet in lists if isinstance(of_sheet, list) for cell in of_sheet]
    raise NotebookError(
        f"{name} is not a notebook: it is JSON, but has no list of cells.", _SAVE_AGAIN, "damaged"
    )


def _read_sources(cells: list[Any], name: str) -> list[str]:
    """The sources of the code cells; each cell and all cells together have a cap."""
    sources: list[str] = []
    total = 0
    for number, raw in enumerate(_raw_sources(cells), 1):
        source, size = raw, len(raw)
        if size <= MAX_CELL_BYTES:  # a larger text is not even copied
            source = utf8_text(raw).replace("\r\n", "\n").replace("\r", "\n")
            size = len(source.encode())
        total += size
        if size > MAX_CELL_BYTES:
            excess = f"more than {MAX_CELL_BYTES // 1024**2} MiB of code in code cell {number}"
        elif total > MAX_SOURCE_BYTES:
            excess = f"more than {MAX_SOURCE_BYTES // 1024**2} MiB of code"
        elif number > MAX_CODE_CELLS:
            excess = f"more than {MAX_CODE_CELLS} code cells"
        else:
            sources.append(source)
            continue
        raise NotebookError(f"{name} has {excess}.", "Take out what the assignment did not ask for.")
    return sources


def _raw_sources(cells: list[Any]) -> Iterator[str]:
    """The source of each code cell; a cell without a source that can be read is empty."""
    for cell in cells:
        match cell:
            case {"cell_type": "code", "source": str(text)} | {"cell_type": "code", "input": str(text)}:
                yield text
            case {"cell_type": "code", "source": [*lines]} | {"cell_type": "code", "input": [*lines]}:
                yield _joined(lines)
            case {"cell_type": "code"}:
                yield ""


def _joined(lines: list[Any]) -> str:
    """The text of a list of lines, some or all of which may have lost their ends.

    A list in which no line ends has lost them all. In another, only the last line has no end, unless a tool
    cut the list in the middle of a line; then its pieces belong together.
    """
    texts = [line for line in lines if isinstance(line, str)]
    has_ends = any(text.endswith(("\n", "\r")) for text in texts[:-1])
    return ("" if has_ends else "\n").join(texts)


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
    """Read a notebook with all its cells.

    Raises:
        NotebookError: it cannot be read or is no notebook.
    """
    file = read_file(path)
    document = json_of(file)
    notebook = notebook_in(document, file)
    raw = document.get("cells")  # an object, or `notebook_in` had refused it
    cells: list[DocumentCell] = []
    code = iter(notebook.cells)
    for index, cell in enumerate(raw if isinstance(raw, list) else []):
        fields = cell if isinstance(cell, dict) else {}
        identity = fields["id"] if isinstance(fields.get("id"), str) else ""
        if fields.get("cell_type") == "code":
            of_code = next(code)
            cells.append(DocumentCell(index, of_code.number, identity, of_code.source))
        else:
            cells.append(DocumentCell(index, 0, identity, _text(fields.get("source"))))
    tests = {}
    match document:
        case {"metadata": {"otter": {"tests": dict() as found}}}:
            tests = {name: source for name, source in found.items() if isinstance(source, str)}
    return Document(path, file.content, notebook, tuple(cells), tests)


def _text(source: Any) -> str:
    if isinstance(source, list):
        source = _joined(source)
    return utf8_text(source).replace("\r\n", "\n") if isinstance(source, str) else ""
