"""Outside: who of a teacher's list is which student; nobody is guessed."""

from __future__ import annotations

import csv
import io
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
_DECIMAL_COMMA = re.compile(r"\d+,\d+")


@dataclass(frozen=True)
class CsvSheet:
    """A CSV file.

    Attributes:
        path: where it was read.
        rows: its cells, without blank lines; the first row holds the headings.
        delimiter: what separates its cells.
        has_bom: whether it begins with a byte order mark, by which Excel knows UTF-8.
    """

    path: Path
    rows: list[list[str]]
    delimiter: str
    has_bom: bool

    @property
    def headings(self) -> list[str]:
        """The first row."""
        return self.rows[0]

    def value(self, row: Sequence[str], column: int | None) -> str:
        """A row's cell, stripped; empty where the row is shorter or there is no column."""
        return row[column].strip() if column is not None and column < len(row) else ""

    def number(self, text: str) -> str:
        """A number as this file writes its own: with a comma where that is its decimal sign."""
        has_comma = any(_DECIMAL_COMMA.fullmatch(cell.strip()) for row in self.rows for cell in row)
        return text.replace(".", ",") if has_comma else text

    def filled(self, values: Mapping[tuple[int, int], str]) -> bytes:
        """The file with other values in some cells, by row and column; a short row grows."""
        rows = [[*row] for row in self.rows]
        for (row, column), value in values.items():
            rows[row] += [""] * (column + 1 - len(rows[row]))
            rows[row][column] = value
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self.delimiter).writerows(rows)
        return (_BOM if self.has_bom else b"") + text.getvalue().encode()


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
    try:
        text = content.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise GraderError(f"{path}, line {line} is not UTF-8: export it again as CSV in UTF-8") from error
    first = text.lstrip().partition("\n")[0]
    delimiter = max("\t;,", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [row for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise GraderError(f"{path}, line {reader.line_num} is not CSV ({error}): export it again") from error
    if not rows:
        raise GraderError(f"{path} is empty: export the gradebook again")
    return CsvSheet(path, rows, delimiter, content.startswith(_BOM))
