"""A gradebook exported from Canvas, with a column filled for each assignment; no other cell changes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from grader.errors import GraderError
from grader.integrations.collect.record import student_ids
from grader.integrations.export import MAX_NAMES, Export
from grader.integrations.export.gradebooks import CsvSheet, match, read_gradebook
from grader.results.model import Result
from grader.scores import format_points
from grader.text import some

FILE_NAME = "canvas.csv"
_PERSON_COLUMNS = ("ID", "SIS User ID", "SIS Login ID", "Student")
_TITLE = re.compile(r"(?P<title>.*\S)\s*\((?P<id>\d+)\)")
_POINTS_POSSIBLE = "points possible"
_READ_ONLY = "(read only)"
_ROUNDING = 1e-6

#: Values by row and column.
Cells = dict[tuple[int, int], str]


def write_files(export: Export) -> None:
    """Write ``canvas.csv``, the teacher's own gradebook filled in.

    Raises:
        GraderError: an assignment has no column or several, or the file is not Canvas's.
    """
    sheet = read_gradebook(export)
    _check(export, sheet)
    students = {result.student for results in export.results.values() for result in results}
    people = _people(sheet, student_ids(export.folder, "canvas", students))
    values: Cells = {}
    for stem, results in export.results.items():
        column = _column(export, sheet, stem)
        if column is not None:
            filled = _scores(export, sheet, column, results, people)
            _note_counts(export, sheet, column, filled, len(people))
            values |= filled
    if not values:
        raise GraderError(
            f"{sheet.path}: nothing could be filled in. {' '.join(export.notes)} Students' folders are looked"
            f" for in the columns {', '.join(_PERSON_COLUMNS)}: name them as one of these does"
        )
    export.write(FILE_NAME, sheet.filled(values))


def _check(export: Export, sheet: CsvSheet) -> None:
    """Refuse a file that is not a gradebook of Canvas, and to overwrite it."""
    headings = sheet.headings
    if "Student" not in headings or "ID" not in headings:
        raise GraderError(
            f"{sheet.path} is not a gradebook of Canvas (no columns Student and ID): export it there by"
            " Grades, Export"
        )
    if (export.out / FILE_NAME).resolve() == sheet.path.resolve():
        raise GraderError(f"{sheet.path} would be overwritten: choose another --out")


def _people(sheet: CsvSheet, ids: dict[str, str]) -> dict[int, list[str]]:
    """All names of each row's person, and the student who has the row's Canvas number."""
    columns = [sheet.headings.index(name) for name in _PERSON_COLUMNS if name in sheet.headings]
    id_column = sheet.headings.index("ID")
    student_of = {identity: student for student, identity in ids.items()}
    people = {}
    for number, row in enumerate(sheet.rows):
        if number and (identity := sheet.value(row, id_column)):
            names = [name for column in columns if (name := sheet.value(row, column))]
            people[number] = [*names, *([student_of[identity]] if identity in student_of else [])]
    return people


def _column(export: Export, sheet: CsvSheet, stem: str) -> int | None:
    """The column of an assignment; None, with a note, where one of several assignments has none.

    Raises:
        GraderError: there is none, there are several, or it holds no points.
    """
    named = _columns_named(export, sheet, stem)
    columns = [column for column in named if _holds_points(sheet, column)]
    if named and not columns:
        raise GraderError(
            f"{sheet.path}: {sheet.headings[named[0]].strip()} is no column of points, and scores would"
            f" overwrite what it says: export a gradebook that has the assignment{_others(sheet)}"
        )
    if len(columns) > 1:
        names = ", ".join(sheet.headings[column] for column in columns)
        raise GraderError(
            f"{sheet.path} has more than one column for {stem} ({names}): say which by --column"
        )
    if columns:
        return columns[0]
    if len(export.results) > 1:
        export.note(f"{sheet.path} has no column for {stem}, so its results are left out.")
        return None
    raise GraderError(
        f"{sheet.path} has no column for {stem}: make the assignment in Canvas and export the"
        f" gradebook again{_others(sheet)}"
    )


def _columns_named(export: Export, sheet: CsvSheet, stem: str) -> list[int]:
    """The columns that --column names, or that have the assignment's name."""
    if export.column is None:
        title = export.title(stem)
        names = {stem, title, f"{int(stem[:2])}. {title}"} if title else {stem}
    else:
        names = {export.column}
    wanted = {name.strip().casefold() for name in names if name}
    columns = [column for column, heading in enumerate(sheet.headings) if _names(heading) & wanted]
    if export.column is None:
        return columns
    whole = [column for column in columns if sheet.headings[column].strip() == export.column.strip()]
    return whole or columns  # a whole heading means no other column


def _names(heading: str) -> set[str]:
    """The names of a column: its heading, its title, its number."""
    heading = heading.strip()
    parts = _TITLE.fullmatch(heading)
    return {name.casefold() for name in (heading, *(parts.groups() if parts else ()))}


def _holds_points(sheet: CsvSheet, column: int) -> bool:
    """Whether a column is an assignment's: Canvas numbers it, or gives its points possible."""
    possible = next((row for row in sheet.rows[1:] if _is_points_possible(sheet, row)), [])
    numbered = _TITLE.fullmatch(sheet.headings[column].strip())
    return column > 0 and bool(numbered or sheet.value(possible, column))


def _is_points_possible(sheet: CsvSheet, row: Sequence[str]) -> bool:
    return sheet.value(row, 0).casefold() == _POINTS_POSSIBLE


def _others(sheet: CsvSheet) -> str:
    """The columns of assignments, as the end of a sentence."""
    names = [name.strip() for column, name in enumerate(sheet.headings) if _holds_points(sheet, column)]
    if not names:
        return ""
    listed = ", ".join(some(names, MAX_NAMES))
    return f", or name a column, as in --column {shlex.quote(names[0])}; there are {listed}"


def _scores(
    export: Export, sheet: CsvSheet, column: int, results: Sequence[Result], people: dict[int, list[str]]
) -> Cells:
    """The scores by their cells; adds notes about students who are left out, and points that differ."""
    for row in sheet.rows[1:]:
        if _is_points_possible(sheet, row):
            possible, most = sheet.value(row, column), max(result.max_score for result in results)
            _compare_points(export, sheet.headings[column], possible, most)
    matches = match((result.student for result in results), people)
    matches.note(export, sheet.path)
    return {
        (matches.rows[result.student], column): sheet.number(format_points(result.score))
        for result in results
        if result.student in matches.rows
    }


def _compare_points(export: Export, heading: str, possible: str, max_score: float) -> None:
    """Add a note where Canvas has other points possible.

    Raises:
        GraderError: Canvas computes the column itself.
    """
    if possible.casefold() == _READ_ONLY:
        raise GraderError(f"Canvas computes the column {heading} itself: name another by --column")
    try:
        equal = abs(float(possible.replace(",", ".")) - max_score) < _ROUNDING
    except ValueError:
        equal = False
    if not equal:
        export.note(
            f"{heading}: Canvas has {possible or 'no'} points possible, the assignment"
            f" {format_points(max_score)}; scores are written as they are, so change that in Canvas."
        )


def _note_counts(export: Export, sheet: CsvSheet, column: int, filled: Cells, people: int) -> None:
    """Add a note of how many scores were filled in, and how many of them replace others."""
    before = {cell: sheet.value(sheet.rows[cell[0]], column) for cell in filled}
    changed = sum(before[cell] not in {"", value} for cell, value in filled.items())
    replaced = f", in the place of others: {changed}" if changed else ""
    export.note(
        f"{sheet.headings[column]}, scores filled in: {len(filled)}{replaced};"
        f" rows left as they are: {people - len(filled)}."
    )
