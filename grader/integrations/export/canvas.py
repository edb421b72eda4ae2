"""A gradebook exported from Canvas, with a column filled for each assignment; no other cell changes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from grader.errors import GraderError
from grader.integrations.collect.record import student_ids
from grader.integrations.export import Export
from grader.integrations.export.gradebooks import matched, read_gradebook
from grader.results.model import Result
from grader.scores import format_points
from grader.sheets import Sheet
from grader.text import some

FILE_NAME = "canvas.csv"
_PERSON_COLUMNS = ("ID", "SIS User ID", "SIS Login ID", "Student")
_TITLE = re.compile(r"(?P<title>.*\S)\s*\((?P<id>\d+)\)")
_POINTS_POSSIBLE = "points possible"
_READ_ONLY = "(read only)"
_ROUNDING = 1e-6
_MOST_NAMED = 20


def write_files(export: Export) -> None:
    """Write ``canvas.csv``, the teacher's own gradebook filled in.

    Raises:
        GraderError: an assignment has no column or several, or the file is not Canvas's.
    """
    sheet = read_gradebook(export)
    if not {"Student", "ID"} <= {*sheet.rows[0]}:
        raise GraderError(
            f"{sheet.path} is not a gradebook of Canvas (no columns Student and ID): export it there by"
            " Grades, Export"
        )
    if (export.out / FILE_NAME).resolve() == sheet.path.resolve():
        raise GraderError(f"{sheet.path} would be overwritten: choose another --out")
    students = {result.student for results in export.results.values() for result in results}
    people = _people(sheet, student_ids(export.folder, "canvas", students))
    values: dict[tuple[int, int], str] = {}
    for stem, results in export.results.items():
        column = _column(export, sheet, stem)
        if column is not None:
            values |= _scores(export, sheet, column, results, people)
    if not values:
        raise GraderError(
            f"{sheet.path}: nothing could be filled in. {' '.join(export.notes)} Students' folders are looked"
            f" for in the columns {', '.join(_PERSON_COLUMNS)}: name them as one of these does"
        )
    export.write(FILE_NAME, sheet.filled(values))


def _people(sheet: Sheet, ids: Mapping[str, str]) -> dict[int, list[str]]:
    """All names of each row's person, and the student who has the row's Canvas number."""
    columns = [sheet.rows[0].index(name) for name in _PERSON_COLUMNS if name in sheet.rows[0]]
    id_column = sheet.rows[0].index("ID")
    student_of = {identity: student for student, identity in ids.items()}
    people = {}
    for number, row in enumerate(sheet.rows):
        if number and (identity := sheet.value(row, id_column)):
            names = [*(sheet.value(row, column) for column in columns), student_of.get(identity, "")]
            people[number] = [name for name in names if name]
    return people


def _column(export: Export, sheet: Sheet, stem: str) -> int | None:
    """The column of an assignment; None, with a note, where one of several assignments has none.

    Raises:
        GraderError: there is none, there are several, or it holds no points.
    """
    headings = [heading.strip() for heading in sheet.rows[0]]
    with_points = [column for column in range(1, len(headings)) if _holds_points(sheet, column)]
    named = _columns_named(headings, export.column, stem, export.title(stem))
    columns = [column for column in named if column in with_points]
    if len(columns) == 1:
        return columns[0]
    names = [headings[column] for column in with_points]
    others = ""
    if names:
        listed = ", ".join(some(names, _MOST_NAMED))
        others = f", or name a column, as in --column {shlex.quote(names[0])}; there are {listed}"
    if columns:
        several = ", ".join(headings[column] for column in columns)
        raise GraderError(
            f"{sheet.path} has more than one column for {stem} ({several}): say which by --column"
        )
    if named:
        raise GraderError(
            f"{sheet.path}: {headings[named[0]]} is no column of points, and scores would overwrite what it"
            f" says: export a gradebook that has the assignment{others}"
        )
    if len(export.results) > 1:
        export.note(f"{sheet.path} has no column for {stem}, so its results are left out.")
        return None
    raise GraderError(
        f"{sheet.path} has no column for {stem}: make the assignment in Canvas and export the gradebook"
        f" again{others}"
    )


def _columns_named(headings: Sequence[str], asked: str | None, stem: str, title: str | None) -> list[int]:
    """The columns that --column names by heading, title or number, or that have the assignment's name."""
    if asked is None:
        wanted = {stem, title, f"{int(stem[:2])}. {title}"} if title else {stem}
    elif asked.strip() in headings:
        return [column for column, heading in enumerate(headings) if heading == asked.strip()]
    else:
        wanted = {asked.strip()}
    folded = {name.casefold() for name in wanted if name}
    names = [{heading, *(t.groups() if (t := _TITLE.fullmatch(heading)) else ())} for heading in headings]
    return [at for at, known in enumerate(names) if not folded.isdisjoint(map(str.casefold, known))]


def _holds_points(sheet: Sheet, column: int) -> bool:
    """Whether a column is an assignment's: Canvas numbers it, or gives its points possible."""
    return bool(_TITLE.fullmatch(sheet.rows[0][column].strip()) or _points_possible(sheet, column))


def _points_possible(sheet: Sheet, column: int) -> str:
    row = next((row for row in sheet.rows[1:] if sheet.value(row, 0).casefold() == _POINTS_POSSIBLE), ())
    return sheet.value(row, column)


def _scores(
    export: Export,
    sheet: Sheet,
    column: int,
    results: Sequence[Result],
    people: Mapping[int, Sequence[str]],
) -> dict[tuple[int, int], str]:
    """The scores by row and column; adds notes about what was filled in, and points that differ.

    Raises:
        GraderError: Canvas computes the column itself.
    """
    heading, possible = sheet.rows[0][column], _points_possible(sheet, column)
    if possible.casefold() == _READ_ONLY:
        raise GraderError(f"Canvas computes the column {heading} itself: name another by --column")
    most = max(result.max_score for result in results)
    if not _is_number(possible, most):
        export.note(
            f"{heading}: Canvas has {possible or 'no'} points possible, the assignment"
            f" {format_points(most)}; scores are written as they are, so change that in Canvas."
        )
    known = matched(export, sheet, results, people)
    filled = {(row, column): sheet.number(format_points(result.score)) for result, row in known}
    before = {cell: sheet.value(sheet.rows[cell[0]], column) for cell in filled}
    changed = sum(before[cell] not in {"", value} for cell, value in filled.items())
    replaced = f", in the place of others: {changed}" if changed else ""
    left = len(people) - len(filled)
    export.note(f"{heading}, scores filled in: {len(filled)}{replaced}; rows left as they are: {left}.")
    return filled


def _is_number(text: str, value: float) -> bool:
    try:
        return abs(float(text.replace(",", ".")) - value) < _ROUNDING
    except ValueError:
        return False
