"""The CSV files of an instructor: where they lie, their headings, and what is said of a line."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.sheets import Sheet, read_sheet
from grader.text import did_you_mean, terminal_text


@dataclass(frozen=True)
class Row:
    """A row below the headings; a missing cell is empty."""

    path: Path
    line: int
    cells: Mapping[str, str]

    def error(self, complaint: str) -> GraderError:
        """What is wrong with this row."""
        return GraderError(f"{self.path}, line {self.line}: {terminal_text(complaint)}")

    def assignment(self, stems: Collection[str]) -> str:
        """The assignment that the row's column of that name means.

        Raises:
            GraderError: it means none of the course.
        """
        stem = self.cells["assignment"]
        if stem not in stems:
            raise self.error(f"{stem!r} is no assignment of this course: {did_you_mean(stem, stems)}")
        return stem


def find_file(submissions: Path, name: str) -> Path | None:
    """The file among the students' folders, else beside the folder that holds them; None without it.

    A link is not followed: a student may have put it there.
    """
    places = (submissions / name, submissions.resolve().parent / name)
    return next((path for path in places if path.is_file() and not path.is_symlink()), None)


def read_rows(submissions: Path, name: str, needed: Sequence[str], known: Sequence[str]) -> list[Row]:
    """The rows of a file whose first line names its columns; none without the file.

    Args:
        submissions: the folder of the students' folders.
        name: of the file.
        needed: the headings without which nothing can be read.
        known: all headings.

    Raises:
        GraderError: it is not CSV, or has not these headings.
    """
    path = find_file(submissions, name)
    sheet = read_sheet(path) if path else None
    if sheet is None or not sheet.rows:
        return []
    headings = [heading.strip().casefold() for heading in sheet.rows[0]]
    wanted = f"its first line has to be {','.join(known)}"
    for heading in needed:
        if heading not in headings:
            raise GraderError(f"{path}, line {sheet.lines[0]}: there is no column {heading}: {wanted}")
    for heading in headings:
        if heading and heading not in known:
            meant = did_you_mean(heading, known)
            raise GraderError(f"{path}, line {sheet.lines[0]}: the column {heading!r} means nothing: {meant}")
    return [*_rows(sheet, headings)]


def _rows(sheet: Sheet, headings: Sequence[str]) -> Iterator[Row]:
    for row, line in zip(sheet.rows[1:], sheet.lines[1:], strict=True):
        if len(row) > len(headings):
            raise GraderError(
                f"{sheet.path}, line {line}: it has {len(row)} cells, but there are {len(headings)} columns:"
                ' put a text with a comma into quotes, as in "late, but excused"'
            )
        cells = {name: sheet.value(row, column) for column, name in enumerate(headings) if name}
        yield Row(sheet.path, line, cells)
