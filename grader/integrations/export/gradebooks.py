"""The gradebook that a teacher exported: its CSV file, and the student of each row."""

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
from grader.integrations.export import MAX_NAMES, Export
from grader.text import file_name, some

_MAX_BYTES = 50 << 20
_BOM = b"\xef\xbb\xbf"
_DECIMAL_COMMA = re.compile(r"\d+,\d+")


@dataclass(frozen=True)
class CsvSheet:
    """A CSV file."""

    path: Path
    rows: list[list[str]]  # without blank lines; the first row holds the headings
    delimiter: str
    has_bom: bool  # a byte order mark, which tells Excel that the file is UTF-8

    @property
    def headings(self) -> list[str]:
        """The first row."""
        return self.rows[0]

    def value(self, row: Sequence[str], column: int | None) -> str:
        """A row's cell, stripped; empty where the row is shorter or there is no column."""
        return row[column].strip() if column is not None and column < len(row) else ""

    def number(self, text: str) -> str:
        """A number with the decimal sign of this file, which may be a comma."""
        has_comma = any(_DECIMAL_COMMA.fullmatch(cell.strip()) for row in self.rows for cell in row)
        return text.replace(".", ",") if has_comma else text

    def filled(self, values: Mapping[tuple[int, int], str]) -> bytes:
        """The file with new values in some cells, by row and column; a short row grows."""
        rows = [[*row] for row in self.rows]
        for (row, column), value in values.items():
            rows[row] += [""] * (column + 1 - len(rows[row]))
            rows[row][column] = value
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self.delimiter).writerows(rows)
        return (_BOM if self.has_bom else b"") + text.getvalue().encode()


def read_gradebook(export: Export) -> CsvSheet:
    """The teacher's own gradebook.

    Raises:
        GraderError: no file was named; or it cannot be read, is not UTF-8, or is not CSV.
    """
    path = export.gradebook
    if path is None:
        raise GraderError("no gradebook was named: add --gradebook FILE")
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise GraderError(f"{path} is larger than {_MAX_BYTES >> 20} MiB: is it a gradebook?")
        return parse_sheet(path, path.read_bytes())
    except OSError as error:
        raise GraderError(
            f"{path} cannot be read ({error.strerror}): name the gradebook you exported"
        ) from error


def parse_sheet(path: Path, content: bytes) -> CsvSheet:
    """Parse a CSV file's content.

    Raises:
        GraderError: it is not UTF-8, is not CSV, or is empty.
    """
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


@dataclass
class Matches:
    """The row of a gradebook that is each student's."""

    rows: dict[str, int] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)  # students without a row
    ambiguous: list[str] = field(default_factory=list)  # several rows fit, or several students fit one row

    def note(self, export: Export, path: Path) -> None:
        """Add notes about students who are left out."""
        if self.unknown:
            export.note(f"Not in {path}, so left out: {'; '.join(some(self.unknown, MAX_NAMES))}.")
        if self.ambiguous:
            export.note(
                f"Left out, because several rows of {path} fit, or several students one row:"
                f" {'; '.join(some(self.ambiguous, MAX_NAMES))}."
            )


def match(students: Iterable[str], names: Mapping[int, Sequence[str]]) -> Matches:
    """Find each student's row: exactly the folder's name is a number, login, address or name in it.

    Args:
        students: the names of their folders.
        names: for each row, all names of its person.
    """
    rows: dict[str, set[int]] = defaultdict(set)
    for row, row_names in names.items():
        for name in row_names:
            for spelling in _spellings(name):
                rows[spelling].add(row)
    candidates = {student: rows.get(_folded(student), set()) for student in sorted(set(students))}
    claims: dict[int, list[str]] = defaultdict(list)
    for student, fitting in candidates.items():
        for row in fitting:
            claims[row].append(student)
    matches = Matches()
    for student, fitting in candidates.items():
        if not fitting:
            matches.unknown.append(student)
        elif len(fitting) > 1 or any(len(claims[row]) > 1 for row in fitting):
            matches.ambiguous.append(student)
        else:
            matches.rows[student] = next(iter(fitting))
    return matches


def _spellings(name: str) -> set[str]:
    """A name as it stands, as a folder's name, and as given name and family name."""
    family, comma, given = (part.strip() for part in name.partition(","))
    spelled = [name.strip(), f"{given} {family}"] if comma and given else [name.strip()]
    return {_folded(form) for each in spelled if each for form in (each, file_name(each))}


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
