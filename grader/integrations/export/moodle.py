"""Outside: grades as Moodle's gradebook imports them: a file for each assignment, known users only.

One unknown user fails a whole import, so users are taken from the teacher's own export.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from grader.course.settings import Feedback
from grader.errors import GraderError
from grader.integrations.export import MOST, Export, feedback_text
from grader.integrations.export.gradebooks import CsvSheet, match
from grader.results.stored import Stored
from grader.scores import format_points
from grader.text import encodable, some, straight, without_formula

_ADDRESSES = ("email address", "email")
_NUMBERS = ("id number",)
_NAMES = ("username", "user name", "full name")
_GIVEN, _FAMILY = ("first name",), ("last name", "surname")
_MAX_FEEDBACK = 2000  # characters


def export(export: Export, sheet: CsvSheet) -> None:
    """Write ``<stem>.csv``, of whoever has a result and is in the teacher's export.

    Args:
        export: what, and where to.
        sheet: the gradebook or the list of participants as Moodle exported it.

    Raises:
        GraderError: the file has no addresses, or nobody of it has a result.
    """
    headings = [heading.strip().casefold() for heading in sheet.headings]
    address, identity = _find(headings, _ADDRESSES), _find(headings, _NUMBERS)
    if address is None:
        raise GraderError(
            f"{sheet.path} has no column Email address ({', '.join(sheet.headings)}): export the gradebook in"
            " Moodle by Grades, Export, Plain text file"
        )
    people = _people(sheet, headings)
    for stem, results in export.results.items():
        lines, formulas = [], []
        matched = match((one.student for one in results), people)
        export.notes.extend(note for note in matched.notes(str(sheet.path)) if note not in export.notes)
        for one in results:
            if one.student not in matched.rows:
                continue
            row = sheet.rows[matched.rows[one.student]]
            user = sheet.value(row, address), sheet.value(row, identity)
            if any(without_formula(name) != name for name in user):
                formulas.append(f"{one.student} {user}")
                continue
            lines.append([*user, format_points(one.score), _feedback(one, export.shows)])
        if formulas:
            export.note(
                f"{stem}, left out, because a spreadsheet would take their address or number for a formula:"
                f" {', '.join(some(formulas, MOST))}."
            )
        if lines:
            title = without_formula(encodable(straight(export.titles.get(stem, stem))))
            export.write(f"{stem}.csv", _csv([["Email address", "ID number", title, "Feedback"], *lines]))
            export.note(f"{stem}, scores written: {len(lines)}.")
    if not export.files:
        raise GraderError(f"{sheet.path}: nobody of it has a result. {' '.join(export.notes)}")


def _find(headings: Sequence[str], names: Sequence[str]) -> int | None:
    return next((at for at, heading in enumerate(headings) if heading in names), None)


def _people(sheet: CsvSheet, headings: Sequence[str]) -> dict[int, list[str]]:
    """What each row calls its person."""
    columns = [_find(headings, names) for names in (_ADDRESSES, _NUMBERS, *((name,) for name in _NAMES))]
    given, family = _find(headings, _GIVEN), _find(headings, _FAMILY)
    people: dict[int, list[str]] = {}
    for at, row in enumerate(sheet.rows[1:], 1):
        full = f"{sheet.value(row, given)} {sheet.value(row, family)}".strip()
        names = [*(sheet.value(row, column) for column in columns), full]
        people[at] = [name for name in names if name]
    return people


def _feedback(one: Stored, shows: Feedback) -> str:
    """What the student reads, on one line, as a cell that is no formula."""
    parts = [one.error] if one.error else []
    for answer in () if one.error else one.answers:
        why = feedback_text(answer, shows)
        points = f"{answer.id}: {format_points(answer.score)} of {format_points(answer.max_score)}"
        parts.append(f"{points}. {why}" if why else f"{points}.")
    line = " ".join(encodable(straight(" ".join(parts))).split())
    return without_formula(line if len(line) <= _MAX_FEEDBACK else line[: _MAX_FEEDBACK - 1] + "…")


def _csv(lines: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(lines)
    return text.getvalue()
