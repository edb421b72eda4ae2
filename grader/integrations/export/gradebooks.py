"""Outside: who of a teacher's list is which student; nobody is guessed."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import GraderError
from grader.integrations.export import MOST
from grader.text import file_name, some


@dataclass
class Matches:
    """Rows of a list by student.

    Attributes:
        rows: where each student is, by name.
        unknown: students of whom no row speaks.
        ambiguous: students who may be several rows, or of whom several may be the same row.
    """

    rows: dict[str, int] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    ambiguous: list[str] = field(default_factory=list)

    def notes(self, place: str) -> list[str]:
        """What whoever exports has to know."""
        told = []
        if self.unknown:
            told.append(f"Not in {place}, so left out: {'; '.join(some(self.unknown, MOST))}.")
        if self.ambiguous:
            told.append(
                f"Left out, because several rows of {place} fit, or several students one row:"
                f" {'; '.join(some(self.ambiguous, MOST))}."
            )
        return told


def match(students: Iterable[str], names: Mapping[int, Sequence[str]]) -> Matches:
    """Find every student's row.

    A student is whoever has exactly the folder's name as a number, login, address or full name.

    Args:
        students: names of their folders.
        names: all that each row calls its person, by the row.
    """
    rows: dict[str, set[int]] = defaultdict(set)
    for row, called in names.items():
        for name in called:
            for spelling in _spellings(name):
                rows[spelling].add(row)
    students = sorted(set(students))
    found = {student: rows.get(_folded(student), set()) for student in students}
    claims: dict[int, list[str]] = defaultdict(list)
    for student, candidates in found.items():
        for row in candidates:
            claims[row].append(student)
    matched = Matches()
    for student, candidates in found.items():
        if not candidates:
            matched.unknown.append(student)
        elif len(candidates) > 1 or any(len(claims[row]) > 1 for row in candidates):
            matched.ambiguous.append(student)
        else:
            matched.rows[student] = next(iter(candidates))
    return matched


def _spellings(name: str) -> set[str]:
    """A name as it stands, as a folder is called, and with the family's name at the other end."""
    family, comma, given = (part.strip() for part in name.partition(","))
    spelled = [name.strip(), f"{given} {family}"] if comma and given else [name.strip()]
    return {_folded(form) for one in spelled if one for form in (one, file_name(one))}


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


_MAX_BYTES = 50 << 20
_BOM = b"\xef\xbb\xbf"
# A field is quoted, with doubled quotes inside, or has neither quotes nor ends of lines.
_FIELD = r'"(?:[^"]|"")*"|[^"\r\n{0}][^\r\n{0}]*|'
_DECIMAL_COMMA = re.compile(r"\d+,\d+")


@dataclass(frozen=True)
class Cell:
    """A cell: what it says, and the part of the text it stands in."""

    value: str
    start: int
    end: int


@dataclass(frozen=True)
class CsvSheet:
    """A CSV file.

    Attributes:
        path: where it was read.
        rows: its cells, without blank lines; the first row holds the headings.
    """

    path: Path
    rows: list[list[Cell]]
    _text: str
    _bom: bytes
    _delimiter: str

    @property
    def headings(self) -> list[str]:
        """The first row."""
        return [cell.value for cell in self.rows[0]]

    def value(self, row: list[Cell], column: int | None) -> str:
        """What a row says in a column, without blanks around it; nothing where it is shorter."""
        return row[column].value.strip() if column is not None and column < len(row) else ""

    def number(self, text: str) -> str:
        """A number as this file writes its own: with a comma where that is its decimal sign."""
        found = any(_DECIMAL_COMMA.fullmatch(cell.value.strip()) for row in self.rows for cell in row)
        return text.replace(".", ",") if found else text

    def filled(self, values: Mapping[tuple[int, int], str]) -> bytes:
        """The file with other values in some cells, by row and column; a short row grows."""
        pieces: list[tuple[int, int, str]] = []
        for (row, column), value in values.items():
            cells = self.rows[row]
            missing = max(0, column + 1 - len(cells))
            cell = cells[-1] if missing else cells[column]
            start = cell.end if missing else cell.start
            pieces.append((start, cell.end, missing * self._delimiter + self._field(value)))
        text, at = [], 0
        for start, end, piece in sorted(pieces):
            text += [self._text[at:start], piece]
            at = end
        return self._bom + "".join([*text, self._text[at:]]).encode()

    def _field(self, value: str) -> str:
        quoted = any(character in value for character in f'"\r\n{self._delimiter}')
        return '"' + value.replace('"', '""') + '"' if quoted else value


def read_sheet(path: Path) -> CsvSheet:
    """Read a CSV file.

    Raises:
        GraderError: it cannot be read, is not UTF-8, or is not CSV.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise GraderError(f"{path} is larger than {_MAX_BYTES >> 20} MiB: is it a gradebook?")
        content = path.read_bytes()
    except OSError as error:
        raise GraderError(
            f"{path} cannot be read ({error.strerror}): name the gradebook you exported"
        ) from error
    bom = _BOM if content.startswith(_BOM) else b""
    try:
        text = content[len(bom) :].decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise GraderError(f"{path}, line {line} is not UTF-8: export it again as CSV in UTF-8") from error
    first = text.lstrip().partition("\n")[0]
    delimiter = max("\t;,", key=first.count)
    rows = [row for row in _rows(path, text, delimiter) if any(cell.value.strip() for cell in row)]
    if not rows:
        raise GraderError(f"{path} is empty: export the gradebook again")
    return CsvSheet(path, rows, text, bom, delimiter)


def _rows(path: Path, text: str, delimiter: str) -> list[list[Cell]]:
    """All cells of a text, and where they are.

    Raises:
        GraderError: a quotation mark is neither at an end of a field nor doubled.
    """
    field = re.compile(_FIELD.format(re.escape(delimiter)))
    rows: list[list[Cell]] = [[]]
    at = 0
    while True:
        found = field.match(text, at)
        raw = found[0] if found else ""
        value = raw[1:-1].replace('""', '"') if raw.startswith('"') else raw
        rows[-1].append(Cell(value, at, at + len(raw)))
        at += len(raw)
        if at == len(text):
            return rows
        if text[at] == delimiter:
            at += 1
        elif text[at] in "\r\n":
            at += 2 if text.startswith("\r\n", at) else 1
            if at == len(text):
                return rows
            rows.append([])
        else:
            line = text.count("\n", 0, at) + 1
            raise GraderError(f"{path}, line {line} is not CSV (a stray quotation mark): export it again")
