"""The cells of a notebook, read as data, and its public checks.

Nothing in a notebook is validated, parsed as Python, run or believed. Real notebooks (Colab's, VS Code's, old
tools') break the schema in many ways, and hostile ones are made to exhaust the reader. So the cells come from
the JSON itself, by the two shapes that formats 3 and 4 give them, and everything that could grow has a cap.

msgspec skips outputs without making objects of them, so a file of the permitted size costs little more than
its bytes. It refuses some files that Jupyter accepts, such as those with NaN in an output. Python's own
reader, which makes an object of every value, reads these up to `MAX_LOOSE_BYTES`.
"""

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from grader.notebooks.files import CLEAR_OUTPUTS, NotebookError, NotebookFile, read_file
from grader.text import utf8_text

MAX_OTHER_ENCODING_BYTES = 4 * 1024**2  # broken UTF-16 takes a hundred times as long to decode as UTF-8
MAX_LOOSE_BYTES = 16 * 1024**2
MAX_CELLS, MAX_CODE_CELLS = 50_000, 5_000
MAX_CELL_BYTES = 1024**2
MAX_SOURCE_BYTES = 16 * 1024**2
# Python's reader takes up to a hundred bytes for a value of two bytes.
MAX_VALUES = 2_000_000
MAX_OBJECTS = 1_000_000  # of which msgspec makes cells
MAX_STRINGS = 1_000_000  # that are distinguished from other values, if there are more marks
MAX_ESCAPED_BYTES = 6 * MAX_CELL_BYTES + 1024  # of a cell's source in the file; `\\u0041` is an A
# Sources that msgspec refuses: Python's reader takes up to a second for 6 MiB of them.
MAX_LOOSE_SOURCE_BYTES = 4 * 1024**2
MAX_LABEL_BYTES = 1024  # of a cell's type and id
MAX_LINES = 1_000_000  # of all sources that are lists of lines
_LONGEST_LANGUAGE = 40  # characters
_TOO_MANY_VALUES = "millions of values beside its code"

_SAVE_AGAIN = "It may be incomplete: check that it opens in Jupyter, save it and submit it again."
_RESOLVE = "Resolve the conflict, check that the notebook opens in Jupyter, save it and submit it again."
_NULL = Raw(b"null")
_CONFLICT = re.compile(rb"^<{7} ", re.MULTILINE)
# Files of other kinds under a notebook's name: how the text begins, what it is, what to do.
_OTHER_FILES = (
    (re.compile("PK\x03\x04"), "a ZIP archive", "Unpack it and submit the notebook."),
    (
        re.compile(r"\s*+<(?:!doctype|html)", re.IGNORECASE),
        "a web page",
        "Download the notebook itself and submit it.",
    ),
    (re.compile(r"%PDF-"), "a PDF", "Submit the notebook it was made from."),
    # A byte that begins no character of UTF-8 is U+FFFD.
    (
        re.compile("\x1f\ufffd|BZh\\d|\ufffd7zXZ|7z\ufffd|Rar!"),
        "a compressed file",
        "Unpack it and submit the notebook.",
    ),
    (
        re.compile(r'\s*+\{[^{}]*(?:"(?:doc_id|resource_id)"\s*:|https://(?:docs|drive)\.google\.com/)'),
        "a link to Google Drive",
        "Download the notebook itself and submit it.",
    ),
    (
        re.compile(
            r"(?!\s*+[{\[]).*?^(?:#![^\n]*python|# ?%%|# In ?\[|import \w|from [\w.]+ import |def \w+\(|"
            r"class \w+[(:])",
            re.DOTALL | re.MULTILINE,
        ),
        "a Python script",
        "Submit the notebook itself.",
    ),
)
#: Begins a file that only stands for a notebook.
_POINTER = re.compile(r"(?P<lfs>version https://(?:git-lfs|hawser)\.github\.com/spec/)|/annex/objects/")
_NO_MARKS = bytes(set(range(256)) - set(b'[{,:"'))
# The closing quote is optional: a search for one that is missing would start again at every quote.
_JSON_STRING = re.compile(rb'"[^"]*+"?')


@dataclass(frozen=True)
class Cell:
    """The source of a code cell, and its number among the code cells, counted from 1."""

    number: int
    source: str


def cells_of(sources: Iterable[str]) -> tuple[Cell, ...]:
    """The code cells with these sources, numbered in their order."""
    return tuple(Cell(number, source) for number, source in enumerate(sources, start=1))


@dataclass(frozen=True)
class OtherCell:
    """A cell that is not a code cell.

    Attributes:
        kind: its type in the file, such as ``markdown`` or ``raw``, at most `MAX_LABEL_BYTES` long.
        above: the number of code cells above it.
    """

    kind: str
    above: int
    source: str


@dataclass(frozen=True)
class Notebook:
    """The cells of a notebook.

    Attributes:
        sha256: of its file.
        cells: its code cells.
        assignment: the one that its metadata claim.
        others: the cells of other types whose text is not too large to be read.
        language: of its kernel, as its metadata say; empty if that is Python or unknown.
    """

    sha256: str
    cells: tuple[Cell, ...]
    assignment: str | None
    others: tuple[OtherCell, ...] = ()
    language: str = ""


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
    raw = _find_cells(document, file.name)
    sources = _read_sources(raw, file.name)
    claimed = None
    match document:
        case {"metadata": {"otter": {"assignment_name": str(stem)}}} if len(stem) <= 255:
            claimed = utf8_text(stem)
    return Notebook(file.sha256, cells_of(sources), claimed, tuple(_others(raw)), _language(document))


def _others(cells: list[Any]) -> Iterator[OtherCell]:
    """The cells that are not code cells, in their order."""
    above = size = 0
    for cell in cells:
        match cell:
            case {"cell_type": "code"}:
                above += 1
            case {"cell_type": str(kind), "source": str() | list() as source}:
                text = _text(source)
                size += len(text)
                if size <= MAX_SOURCE_BYTES:
                    yield OtherCell(utf8_text(kind[:MAX_LABEL_BYTES]), above, text)


def _language(document: Any) -> str:
    """The language of a notebook's kernel; empty if that is Python or unknown."""
    match document:
        case {"metadata": {"kernelspec": {"language": str(language)}}} if language.strip():
            pass
        case {"metadata": {"language_info": {"name": str(language)}}}:
            pass
        case _:
            return ""
    language = utf8_text(language.strip())
    return "" if "python" in language.casefold() or len(language) > _LONGEST_LANGUAGE else language


class _RawCell(Struct):
    """The parts of a cell that are read, as they are in the file."""

    cell_type: Raw = _NULL
    id: Raw = _NULL
    source: Raw = _NULL
    input: Raw = _NULL


class _RawSheet(Struct):
    cells: list[_RawCell] | None = None


class _RawMetadata(Struct):
    otter: Raw = _NULL
    grader: Raw = _NULL
    kernelspec: Raw = _NULL
    language_info: Raw = _NULL


class _RawDocument(Struct):
    cells: list[_RawCell] | None = None
    worksheets: list[_RawSheet] | None = None
    metadata: Raw = _NULL


def json_of(file: NotebookFile) -> Any:
    """The JSON value of a file as far as it is read, with bounded effort: no outputs.

    Raises:
        NotebookError: it holds another kind of text, or exceeds a cap.
    """
    name, content = file.name, file.content
    if content and not content.strip(b"\0"):
        raise NotebookError(
            f"{name} is damaged: it contains null bytes only.",
            "Submit the notebook you worked in, after saving it.",
            "damaged",
        )
    encoding = json.detect_encoding(content)
    if not encoding.startswith("utf-8"):
        if len(content) > MAX_OTHER_ENCODING_BYTES:
            raise NotebookError(f"{name} is {encoding} and large.", "Save it as UTF-8 and submit it again.")
        content = content.decode(encoding, "replace").encode()
    content = content.removeprefix(codecs.BOM_UTF8)
    if not content or content.isspace():
        raise NotebookError(
            f"{name} is empty.", "Submit the notebook you worked in, after saving it.", "empty"
        )
    if _is_above(MAX_OBJECTS, content, b"{"):
        raise NotebookError(f"{name} holds {_TOO_MANY_VALUES}.", CLEAR_OUTPUTS, "too large")
    try:
        document = msgspec.json.decode(content, type=_RawDocument)
        if document.cells is None and document.worksheets is None:
            _refuse_other_files(content, name)
        return _without_outputs(document, name)
    except (msgspec.DecodeError, RecursionError):
        return _loose_json(content, name)


def _refuse_other_files(content: bytes, name: str) -> None:
    """Raises NotebookError if a file begins as one of another kind."""
    beginning = content[:1024].decode("utf-8", "replace")
    for pattern, what, advice in _OTHER_FILES:
        if pattern.match(beginning):
            raise NotebookError(f"{name} is {what}, not a notebook.", advice)


def _without_outputs(document: _RawDocument, name: str) -> dict[str, Any]:
    """The document that Python's reader makes of a file, with those parts that are read."""
    cells = _Cells(name)
    values: dict[str, Any] = {}
    if document.cells is not None:
        values["cells"] = [*map(cells.read, document.cells)]
    if document.worksheets is not None:
        sheets = (sheet.cells for sheet in document.worksheets if sheet.cells is not None)
        values["worksheets"] = [{"cells": [*map(cells.read, sheet)]} for sheet in sheets]
    try:
        metadata = msgspec.json.decode(document.metadata, type=_RawMetadata)
    except msgspec.DecodeError:
        metadata = _RawMetadata()
    parts = {name: _value(getattr(metadata, name), MAX_CELL_BYTES) for name in metadata.__struct_fields__}
    return {**values, "metadata": parts}


class _Cells:
    """Reads the cells of a notebook one after the other, up to the caps."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._cells = self._code_cells = self._lines = 0
        self._code_bytes = self._other_bytes = self._loose_bytes = 0

    def read(self, cell: _RawCell) -> dict[str, Any]:
        """A cell as Python's reader gives it, its source as a text; what is large and no code is left out.

        Raises:
            NotebookError: a cap is exceeded.
        """
        kind = _value(cell.cell_type, MAX_LABEL_BYTES)
        given = {"source": bytes(cell.source), "input": bytes(cell.input)}
        size = max(map(len, given.values()))
        self._cells += 1
        if self._cells > MAX_CELLS:
            raise _too_much(self._name, f"more than {MAX_CELLS} cells")
        parts = {"cell_type": kind, "id": _value(cell.id, MAX_LABEL_BYTES)}
        if kind == "code":
            self._code_cells += 1
            self._code_bytes += size
            if self._code_cells > MAX_CODE_CELLS:
                raise _too_much(self._name, _TOO_MANY_CODE_CELLS)
            if size > MAX_ESCAPED_BYTES:
                raise _too_much(self._name, _too_large(self._code_cells))
            if self._code_bytes > MAX_SOURCE_BYTES + MAX_ESCAPED_BYTES:
                raise _too_much(self._name, _TOO_MUCH_IN_ALL)
        else:
            self._other_bytes += size
            if size > MAX_ESCAPED_BYTES or self._other_bytes > MAX_SOURCE_BYTES:
                return parts
        self._lines += sum(raw.count(b'",') for raw in given.values() if raw[:1] == b"[")
        if self._lines > MAX_LINES:
            raise _too_much(self._name, f"more than {MAX_LINES} lines")
        return parts | {part: self._source(raw) for part, raw in given.items() if raw != b"null"}

    def _source(self, raw: bytes) -> Any:
        """The text of a source; another value as it is.

        Raises:
            NotebookError: too much of the notebook can be read by Python's reader only.
        """
        try:
            value: Any = msgspec.json.decode(raw, type=str | list[str])
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._loose_bytes += len(raw)
            if self._loose_bytes > MAX_LOOSE_SOURCE_BYTES:
                most = MAX_LOOSE_SOURCE_BYTES // 1024**2
                raise _too_much(self._name, f"more than {most} MiB of damaged text") from None
            value = _value(raw, MAX_ESCAPED_BYTES)
        return _joined(value) if isinstance(value, list) else value


def _value(raw: Raw | bytes, most: int) -> Any:
    """The value of a part of a file; None if it is malformed or has more bytes than this."""
    if len(raw) > most:
        return None
    try:
        return json.loads(bytes(raw).decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _loose_json(content: bytes, name: str) -> Any:
    """The JSON value of a file that msgspec refuses.

    Raises:
        NotebookError: it is no JSON or exceeds a cap; with the reason.
    """
    beginning = content[:1024].decode("utf-8", "replace")
    if pointer := _POINTER.match(beginning):
        lfs, annex = ("a Git LFS pointer", "git lfs pull"), ("a pointer of git-annex", "git annex get")
        what, command = lfs if pointer["lfs"] else annex
        raise NotebookError(
            f"{name} is {what}, not the notebook: run `{command}` in the clone, and collect again."
        )
    _refuse_other_files(content, name)
    if conflict := _CONFLICT.search(content):
        line = content.count(b"\n", 0, conflict.start()) + 1
        reason = f"Git left the markers of a merge conflict in it (line {line})"
        raise NotebookError(f"{name} is not a notebook: {reason}.", _RESOLVE, "merge conflict")
    if len(content) > MAX_LOOSE_BYTES:
        reason = f"its text is larger than {MAX_LOOSE_BYTES // 1024**2} MiB and not plain JSON"
        raise NotebookError(f"{name} is not a notebook: {reason}.", CLEAR_OUTPUTS, "damaged")
    if _is_above(MAX_VALUES, content, b"[{,:"):
        raise NotebookError(f"{name} holds {_TOO_MANY_VALUES}.", CLEAR_OUTPUTS, "too large")
    try:
        return json.loads(content.decode("utf-8", "replace"))
    except json.JSONDecodeError as error:
        reason = f"its text is not JSON (line {error.lineno})"
    except (RecursionError, MemoryError):
        reason = "its JSON is nested too deeply or too large"
    except ValueError:
        reason = "its JSON holds a number of thousands of digits"
    raise NotebookError(f"{name} is not a notebook: {reason}.", _SAVE_AGAIN, "damaged")


def _is_above(most: int, content: bytes, marks: bytes) -> bool:
    """Whether more of these brackets, commas and colons than allowed are outside of strings."""
    if sum(content.count(mark) for mark in marks) <= most:
        return False
    stripped = content.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NO_MARKS)
    if stripped.count(b'"') > 2 * MAX_STRINGS:
        return True
    outside = _JSON_STRING.sub(b"", stripped)
    return sum(outside.count(mark) for mark in marks) > most


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
            excess = _too_large(number)
        elif total > MAX_SOURCE_BYTES:
            excess = _TOO_MUCH_IN_ALL
        elif number > MAX_CODE_CELLS:
            excess = _TOO_MANY_CODE_CELLS
        else:
            sources.append(source)
            continue
        raise _too_much(name, excess)
    return sources


_TOO_MANY_CODE_CELLS = f"more than {MAX_CODE_CELLS} code cells"
_TOO_MUCH_IN_ALL = f"more than {MAX_SOURCE_BYTES // 1024**2} MiB of code"


def _too_large(number: int) -> str:
    return f"more than {MAX_CELL_BYTES // 1024**2} MiB of code in code cell {number}"


def _too_much(name: str, excess: str) -> NotebookError:
    return NotebookError(f"{name} has {excess}.", "Take out what the assignment did not ask for.")


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
    cut the list in the middle of a line; then its pieces belong together, as do pieces of several lines.
    """
    texts = [line for line in lines if isinstance(line, str)]
    has_ends = any(text.endswith(("\n", "\r")) for text in texts[:-1])
    has_several = any("\n" in text.rstrip("\r\n") for text in texts)
    return ("" if has_ends or has_several else "\n").join(texts)


@dataclass(frozen=True)
class DocumentCell:
    """A cell of any kind."""

    index: int  # among all cells
    number: int  # among the code cells, counted from 1 as in feedback; 0 if it holds no code
    id: str  # in format 4.5, otherwise ""
    source: str  # its lines end with a newline


@dataclass(frozen=True)
class Document:
    """A notebook as it lies on the disk."""

    path: Path
    content: bytes  # of the file
    notebook: Notebook  # its code cells, and the assignment it claims
    cells: tuple[DocumentCell, ...]  # all its cells; none in the old format 3, where they lie on worksheets
    tests: Mapping[str, str]  # the public checks in its metadata, by the question's id
    #: Phrases for the levels of inputs in its metadata, by the question's id and the argument's name.
    levels: Mapping[str, Mapping[str, Sequence[str]]]


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
    tests, levels = {}, {}
    match document:
        case {"metadata": {"otter": {"tests": dict() as found}}}:
            tests = {name: source for name, source in found.items() if isinstance(source, str)}
    match document:
        case {"metadata": {"grader": {"levels": dict() as found}}}:
            levels = {question: _phrases(of) for question, of in found.items() if isinstance(of, dict)}
    return Document(path, file.content, notebook, tuple(cells), tests, levels)


def _phrases(levels: dict[str, Any]) -> dict[str, list[str]]:
    return {
        name: [utf8_text(phrase) for phrase in of if isinstance(phrase, str)]
        for name, of in levels.items()
        if isinstance(of, list)
    }


def _text(source: Any) -> str:
    if isinstance(source, list):
        source = _joined(source)
    return utf8_text(source).replace("\r\n", "\n") if isinstance(source, str) else ""
