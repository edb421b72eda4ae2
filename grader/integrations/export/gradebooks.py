"""A gradebook that a teacher exported: its rows, matched with results; no row is ever guessed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.errors import GraderError
from grader.integrations.export import Export
from grader.people.directory import Directory
from grader.results.model import Result
from grader.sheets import Sheet, read_sheet

IN_ENGLISH = (
    "its headings are in another language: export it with English chosen (in your profile, as the preferred"
    " language)"
)
_ROUNDING = 1e-6
_EXCUSED = frozenset({"ex", "excused", "n/a"})
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?|-")  # Moodle writes a hyphen where there is no grade


def read_gradebook(export: Export) -> Sheet:
    """The teacher's own gradebook; its first row holds the headings.

    Raises:
        GraderError: it cannot be read, is no CSV in UTF-8, or is empty.
    """
    assert export.gradebook is not None  # `columns_of` has seen to it
    sheet = read_sheet(export.gradebook)
    if not sheet.rows:
        raise GraderError(f"{sheet.path} is empty: export the gradebook again")
    return sheet


def with_rows(
    export: Export, sheet: Sheet, results: Sequence[Result], people: Directory
) -> list[tuple[Result, int]]:
    """The results whose students have a row, each with it; adds notes about the others."""
    pairs = export.pairs(results, people)
    export.note(f"Not in {sheet.path}, so left out", pairs.unknown)
    export.note(
        f"Left out, because several rows of {sheet.path} fit, or several students one row", pairs.several
    )
    if pairs.several:
        export.note("Give each of them an id in roster.csv (see its columns) once: every export reads it.")
    rows = {student: people.people[place].line for student, place in pairs.places.items()}
    return [(result, rows[result.student]) for result in results if result.student in rows]


def without_marks(
    export: Export, sheet: Sheet, column: int, known: Sequence[tuple[Result, int]], people: Directory
) -> list[tuple[Result, int]]:
    """The results whose cells are empty or hold a number; adds notes about cells that remain unchanged."""
    heading, students = sheet.rows[0][column].strip(), {row: result.student for result, row in known}
    excused, others = [], []
    for person in people.people:
        cell = sheet.value(sheet.rows[person.line], column)
        if cell.casefold() in _EXCUSED:
            excused.append(f"{students.pop(person.line, person.name)} ({cell})")
        elif cell and person.line in students and not _NUMBER.fullmatch(cell):
            others.append(f"{students.pop(person.line)} ({cell})")
    export.note(f"{heading}, unchanged: excused or not assigned", excused)
    export.note(f"{heading}, unchanged, because the cell is not a number", others)
    return [(result, row) for result, row in known if row in students]


def is_number(text: str, number: float) -> bool:
    """Whether a cell holds this number, with a point or a comma."""
    try:
        return abs(float(text.replace(",", ".")) - number) < _ROUNDING
    except ValueError:
        return False
