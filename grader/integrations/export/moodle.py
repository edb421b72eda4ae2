"""Grades as Moodle's gradebook imports them, a file for each assignment.

An unknown user fails the whole import, so users are taken from the teacher's own export.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from grader.course.settings import Feedback
from grader.errors import GraderError
from grader.integrations.export import Export, feedback_text, plain_text
from grader.integrations.export.gradebooks import matched, read_gradebook
from grader.results.model import Result
from grader.scores import format_points, points_text
from grader.sheets import Sheet
from grader.text import without_formula

_ADDRESSES = ("email address", "email")
_NUMBERS = ("id number",)
_NAMES = ("username", "user name", "full name")
_GIVEN, _FAMILY = ("first name",), ("last name", "surname")
_MAX_FEEDBACK = 2000  # characters


def write_files(export: Export) -> None:
    """Write ``<stem>.csv`` with the users of the teacher's export who have a result.

    Raises:
        GraderError: the export has no addresses, or none of its users has a result.
    """
    sheet = read_gradebook(export)
    headings = [heading.strip().casefold() for heading in sheet.rows[0]]
    user_columns = _find(headings, _ADDRESSES), _find(headings, _NUMBERS)
    if user_columns[0] is None:
        raise GraderError(
            f"{sheet.path} has no column Email address ({', '.join(sheet.rows[0])}): export the gradebook in"
            " Moodle by Grades, Export, Plain text file"
        )
    people = _people(sheet, headings)
    for stem, results in export.results.items():
        lines, formulas = [], []
        for result, row in matched(export, sheet, results, people):
            user = [sheet.value(sheet.rows[row], column) for column in user_columns]
            if any(without_formula(name) != name for name in user):
                formulas.append(f"{result.student} {tuple(user)}")
            else:
                lines.append([*user, format_points(result.score), _feedback(result, export.shows)])
        export.note(
            f"{stem}, left out, because a spreadsheet would take their address or number for a formula",
            formulas,
        )
        if lines:
            title = without_formula(plain_text(export.title(stem) or stem))
            text = io.StringIO()
            csv.writer(text).writerows([["Email address", "ID number", title, "Feedback"], *lines])
            export.write(f"{stem}.csv", text.getvalue())
            export.note(f"{stem}, scores written: {len(lines)}.")
    if not export.files:
        raise GraderError(f"{sheet.path}: nobody of it has a result. {' '.join(export.notes)}")


def _find(headings: Sequence[str], names: Sequence[str]) -> int | None:
    return next((column for column, heading in enumerate(headings) if heading in names), None)


def _people(sheet: Sheet, headings: Sequence[str]) -> dict[int, list[str]]:
    """All names of each row's person."""
    columns = [_find(headings, names) for names in (_ADDRESSES, _NUMBERS, *((name,) for name in _NAMES))]
    given, family = _find(headings, _GIVEN), _find(headings, _FAMILY)
    people: dict[int, list[str]] = {}
    for number, row in enumerate(sheet.rows[1:], 1):
        full = f"{sheet.value(row, given)} {sheet.value(row, family)}".strip()
        names = (*(sheet.value(row, column) for column in columns), full)
        people[number] = [name for name in names if name]
    return people


def _feedback(result: Result, shows: Feedback) -> str:
    """What the student reads, on one line, as a cell that is no formula."""
    parts = [result.error] if result.error else []
    for answer in () if result.error else result.questions:
        points = f"{answer.id}: {points_text(answer.score, answer.max_score)}."
        parts.append(" ".join(filter(None, (points, feedback_text(answer, shows)))))
    line = " ".join(plain_text(" ".join(parts)).split())
    return without_formula(line if len(line) <= _MAX_FEEDBACK else line[: _MAX_FEEDBACK - 1] + "…")
