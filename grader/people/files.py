"""The CSV files of a class: an instructor's, and those that ``collect`` writes and reads again."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.errors import GraderError
from grader.sheets import Sheet, read_sheet
from grader.text import did_you_mean, printable, terminal_text, utf8_text, without_formula

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
_LIKE_CSV = re.compile(
    r"(?P<stem>[a-z]+)(?: ?\(\d+\))?(?:\.(?:csv|txt|tsv|xlsx?|ods|numbers))*", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True)
class Row:
    """A row below the headings; a missing cell is empty."""

    path: Path
    line: int
    cells: Mapping[str, str]

    def error(self, complaint: str) -> GraderError:
        """The error of this row."""
        return GraderError(f"{self.path}, line {self.line}: {terminal_text(complaint)}")

    def assignment(self, stems: Collection[str]) -> str:
        """The assignment that the row's column of that name means.

        Raises:
            GraderError: it means none of the course.
        """
        stem = self.cells["assignment"]
        if stem not in stems:
            raise self.error(f"{stem!r} is not an assignment of this course: {did_you_mean(stem, stems)}")
        return stem

    def time(self, column: str) -> datetime:
        """The time in a column of a file that ``collect`` wrote.

        Raises:
            GraderError: it is none, or has no time zone.
        """
        try:
            at = datetime.fromisoformat(self.cells[column])
        except ValueError:
            at = None
        if at is None or at.tzinfo is None:
            raise self.error(
                f"{column} is {self.cells[column]!r}: write a time with its zone, as"
                " 2026-10-12T18:00:00+00:00, or bring back an older copy of the file"
            )
        return at

    def word(self, column: str, *known: str) -> str:
        """The word in such a column, or nothing.

        Raises:
            GraderError: it is none of those that are known.
        """
        cell = self.cells[column]
        if cell and cell not in known:
            raise self.error(f"{column} is {cell!r}: write {' or '.join(known)}, or leave it empty")
        return cell


def find_file(submissions: Path, name: str) -> Path | None:
    """The file among the students' folders, or beside the folder that contains them; None without it.

    A link is not followed: a student may have put it there.
    """
    places = (submissions / name, submissions.resolve().parent / name)
    return next((path for path in places if path.is_file() and not path.is_symlink()), None)


def about_misnamed(submissions: Path, names: Collection[str]) -> list[str]:
    """A sentence about each file that looks like one of these, which is not there, and is not read.

    Editors and spreadsheets add an ending, write capitals, or save another format.
    """
    missing = {name.partition(".")[0]: name for name in names if find_file(submissions, name) is None}
    paths: list[Path] = []
    for folder in (submissions, submissions.resolve().parent) if missing else ():
        with suppress(OSError):  # there are no submissions yet, or the folder around them cannot be listed
            paths += sorted(folder.iterdir())
    notes = []
    for path in paths:
        found = _LIKE_CSV.fullmatch(path.name)
        name = missing.get(found["stem"].casefold()) if found else None
        if name and path.is_file():
            notes.append(
                f"{terminal_text(str(path))} is not read: save it as a CSV file with the name {name}."
            )
    return notes


def read_rows(
    path: Path | None, needed: Sequence[str], known: Sequence[str], about: str = "", *, strip: bool = True
) -> list[Row]:
    """The rows of a file whose first line names its columns; none without the file.

    Args:
        needed: the headings without which nothing can be read.
        known: all headings.
        about: further information about the columns, as the end of a sentence.
        strip: whether blanks around a cell mean nothing.

    Raises:
        GraderError: it is not CSV, or has not these headings.
    """
    if path is None or not path.exists():
        return []
    sheet = read_sheet(path)
    headings = [heading.strip().casefold() for heading in sheet.rows[0]] if sheet.rows else []
    line = sheet.lines[0] if sheet.rows else 1
    wanted = f"its first line has to be {','.join(known)}{about}"
    for heading in needed:
        if heading not in headings:
            raise GraderError(f"{path}, line {line}: there is no column {heading}: {wanted}")
    for heading in headings:
        if heading and heading not in known:
            meant = did_you_mean(heading, known)
            raise GraderError(f"{path}, line {line}: the column {heading!r} means nothing: {meant}")
    return [*_rows(sheet, headings, strip=strip)]


def _rows(sheet: Sheet, headings: Sequence[str], *, strip: bool) -> Iterator[Row]:
    for row, line in zip(sheet.rows[1:], sheet.lines[1:], strict=True):
        if len(row) > len(headings):
            raise GraderError(
                f"{sheet.path}, line {line}: it has {len(row)} cells, but there are {len(headings)} columns:"
                f" put a text with a {_DELIMITERS[sheet.delimiter]} into quotes, as in"
                f' "late{sheet.delimiter} but excused"'
            )
        cells = dict.fromkeys(headings, "") | dict(zip(headings, row, strict=False))
        yield Row(sheet.path, line, {name: cell.strip() if strip else cell for name, cell in cells.items()})


def recorded(text: str) -> str:
    """A stranger's text as the files of ``collect`` hold it."""
    return without_formula(printable(text))


def time_text(at: datetime | None) -> str:
    """A time as these files hold it; empty for none."""
    return at.astimezone(UTC).isoformat(timespec="seconds") if at else ""


def csv_content(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Such a file: rows below headings."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(headings)
    writer.writerows([recorded(cell) for cell in row] for row in rows)
    return utf8_text(text.getvalue()).encode()
