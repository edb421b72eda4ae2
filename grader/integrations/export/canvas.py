"""Canvas's gradebook: its exported file, with a column filled for each assignment, to be imported again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from grader.errors import GraderError
from grader.integrations.export import Export, Format
from grader.integrations.export.gradebooks import (
    IN_ENGLISH,
    is_number,
    read_gradebook,
    with_rows,
    without_marks,
)
from grader.people.directory import Directory, pair
from grader.people.roster import people_of_rows
from grader.results.model import Result
from grader.scores import format_points
from grader.sheets import Sheet
from grader.text import some

_FILE = "canvas.csv"
_EXCUSED = "EX"  # as Canvas marks who is excused
_TITLE = re.compile(r"(?P<title>.*\S)\s*\((?P<id>\d+)\)")
_MOST_NAMED = 20


def _write(export: Export) -> None:
    """Write ``canvas.csv``, the teacher's own gradebook filled in.

    Raises:
        GraderError: an assignment has no column or several, or the file is not Canvas's.
    """
    sheet = read_gradebook(export)
    headings = {heading.strip().casefold() for heading in sheet.rows[0]}
    if "id" not in headings or not ("student" in headings or {"lastname", "firstname"} <= headings):
        raise GraderError(
            f"{sheet.path}, line {sheet.lines[0]}: it is not a gradebook of Canvas, which has the"
            " columns Student (or LastName and FirstName) and ID: export it there by Grades, Export. Or"
            f" {IN_ENGLISH}"
        )
    if (export.out / _FILE).resolve() == sheet.path.resolve():
        raise GraderError(f"{sheet.path} would be overwritten: choose another --out")
    people = people_of_rows(sheet)
    values: dict[tuple[int, int], str] = {}
    is_found, stem_of = False, dict[int, str]()
    for stem, results in export.results.items():
        column = _canvas_column(export, sheet, stem)
        if column is not None:
            if column in stem_of:
                raise GraderError(
                    f"{sheet.path}: {sheet.rows[0][column]} would be filled for {stem_of[column]} and for"
                    f" {stem}: say which column is whose, as in --column {stem}=HEADING"
                )
            stem_of[column] = stem
            known = with_rows(export, sheet, results, people)
            is_found = is_found or bool(known)
            values |= _canvas_scores(export, sheet, column, known, people)
            rows = pair([export.person(student) for student in export.excused(stem)], people).places
            values |= {(people.people[place].line, column): _EXCUSED for place in rows.values()}
            is_found = is_found or bool(rows)
    if not is_found:
        raise GraderError(
            f"{sheet.path}: nothing could be filled in. {' '.join(export.notes)} Students are matched by"
            " the columns ID, SIS User ID, SIS Login ID and by name: copy these into roster.csv (columns"
            " canvas id, number, login, name)"
        )
    export.add_file(_FILE, sheet.filled(values))


def _canvas_column(export: Export, sheet: Sheet, stem: str) -> int | None:
    """The column of an assignment; None, with a note, where one of several assignments has none.

    A column is an assignment's where Canvas numbers it, or gives its points possible.

    Raises:
        GraderError: there is none, there are several, or it holds no points.
    """
    headings = [heading.strip() for heading in sheet.rows[0]]
    with_points = [
        column
        for column, heading in enumerate(headings)
        if column and (_TITLE.fullmatch(heading) or _points_possible(sheet, column))
    ]
    named = _columns_named(headings, export.columns.get(stem), stem, export.title(stem))
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
            f"{sheet.path}: {headings[named[0]]} is not a column of points, and scores would overwrite it:"
            f" export a gradebook that has the assignment{others}"
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


def _points_possible(sheet: Sheet, column: int) -> str:
    row = next((row for row in sheet.rows[1:] if sheet.value(row, 0).casefold() == "points possible"), ())
    return sheet.value(row, column)


def _canvas_scores(
    export: Export, sheet: Sheet, column: int, known: Sequence[tuple[Result, int]], people: Directory
) -> dict[tuple[int, int], str]:
    """The scores by row and column; adds notes about filled cells, and points that differ.

    Args:
        known: results with their rows.
        people: everybody in the gradebook.

    Raises:
        GraderError: Canvas computes the column itself.
    """
    heading, possible = sheet.rows[0][column], _points_possible(sheet, column)
    if possible.casefold() == "(read only)":
        raise GraderError(f"Canvas computes the column {heading} itself: name another by --column")
    most = max((result.max_score for result, _ in known), default=0.0)
    if known and not is_number(possible, most):
        export.note(
            f"{heading}: Canvas has {possible or 'no'} points possible, the assignment"
            f" {format_points(most)}; scores are written as they are, so change that in Canvas."
        )
    known = without_marks(export, sheet, column, known, people)
    filled = {(row, column): sheet.number(format_points(result.score), [column]) for result, row in known}
    before = {cell: sheet.value(sheet.rows[cell[0]], column) for cell in filled}
    changed = sum(before[cell] not in {"", value} for cell, value in filled.items())
    replaced = f", in the place of others: {changed}" if changed else ""
    with_id = next(at for at, name in enumerate(sheet.rows[0]) if name.strip().casefold() == "id")
    left = sum(bool(sheet.value(cells, with_id)) for cells in sheet.rows[1:]) - len(filled)
    export.note(f"{heading}, scores filled in: {len(filled)}{replaced}; unchanged rows: {left}.")
    return filled


FORMAT = Format(
    "canvas",
    _write,
    advice="import the file in Canvas's gradebook",
    help="`canvas.csv`: your exported gradebook with the scores filled in, and all other cells unchanged",
    gradebook="the gradebook that you exported from Canvas, as CSV",
    needs_gradebook=True,
    takes_columns=True,
)
