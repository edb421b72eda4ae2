"""Moodle's gradebook, for the users in the teacher's own export, or its grading worksheet, filled in place.

Moodle fails a whole import at an unknown user, so users are taken from the teacher's export.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from grader.course.settings import Feedback
from grader.errors import GraderError
from grader.integrations.export import Export, Format, plain_text
from grader.integrations.export.gradebooks import (
    IN_ENGLISH,
    is_number,
    read_gradebook,
    with_rows,
    without_marks,
)
from grader.people.roster import people_of_rows
from grader.reports.document import Block, Paragraph
from grader.reports.feedback import about_question, about_submission
from grader.reports.plain import plain
from grader.results.model import Result
from grader.scores import format_points, points_text
from grader.sheets import Sheet
from grader.text import without_formula

_ADDRESSES = ("email address", "email")
_NUMBERS = ("id number",)
_MAX_FEEDBACK = 2000  # characters


def _write(export: Export) -> None:
    """Write ``<stem>.csv`` with the users of the teacher's export who have a result.

    Raises:
        GraderError: the export has no addresses, or none of its users has a result.
    """
    sheet = read_gradebook(export)
    headings = [heading.strip().casefold() for heading in sheet.rows[0]]
    if {"identifier", "grade"} <= {*headings}:
        _fill_worksheet(export, sheet, headings)
        return

    user_columns = [
        next((column for column, heading in enumerate(headings) if heading in wanted), None)
        for wanted in (_ADDRESSES, _NUMBERS)
    ]
    if user_columns[0] is None:
        raise GraderError(
            f"{sheet.path}, line {sheet.lines[0]}: there is no column Email address"
            f" ({', '.join(sheet.rows[0])}). If it is Moodle's, {IN_ENGLISH}. Otherwise"
            " export the gradebook in Moodle by Grades, Export, Plain text file"
        )
    people = people_of_rows(sheet)
    for stem, results in export.results.items():
        lines, formulas = [], []
        for result, row in with_rows(export, sheet, results, people):
            user = [sheet.value(sheet.rows[row], column) for column in user_columns]
            if any(without_formula(name) != name for name in user):
                formulas.append(f"{result.student} {tuple(user)}")
            else:
                lines.append([*user, format_points(result.score), _moodle_feedback(result, export.shows)])
        export.note(
            f"{stem}, left out, because a spreadsheet would take their address or number for a formula",
            formulas,
        )
        if lines:
            title = without_formula(plain_text(export.title(stem) or stem))
            text = io.StringIO()
            csv.writer(text).writerows([["Email address", "ID number", title, "Feedback"], *lines])
            export.add_file(f"{stem}.csv", text.getvalue())
            export.note(f"{stem}, scores written: {len(lines)}.")
    if not export.contents:
        raise GraderError(f"{sheet.path}: none of its students has a result. {' '.join(export.notes)}")


def _fill_worksheet(export: Export, sheet: Sheet, headings: Sequence[str]) -> None:
    """Write Moodle's grading worksheet with grades and feedback; every other cell stays.

    Raises:
        GraderError: it is of one assignment, and that is not said; or nobody in it has a result.
    """
    if len(export.results) > 1:
        raise GraderError(
            f"{sheet.path} is a grading worksheet, which is of one assignment: say which, as in"
            f" export moodle {min(export.results)} --gradebook {sheet.path}"
        )
    ((stem, results),) = export.results.items()
    if (export.out / f"{stem}.csv").resolve() == sheet.path.resolve():
        raise GraderError(f"{sheet.path} would be overwritten: choose another --out")
    columns = {heading: column for column, heading in enumerate(headings)}
    people = people_of_rows(sheet, left_out=("identifier",))  # numbers of this assignment alone
    known = with_rows(export, sheet, results, people)
    signs = [columns[name] for name in ("grade", "maximum grade") if name in columns]
    values: dict[tuple[int, int], str] = {}
    fixed = []
    for result, row in without_marks(export, sheet, columns["grade"], known, people):
        cells = sheet.rows[row]
        if sheet.value(cells, columns.get("grade can be changed")).casefold() == "no":
            fixed.append(result.student)
            continue
        values[row, columns["grade"]] = sheet.number(format_points(result.score), signs)
        if "feedback comments" in columns:
            values[row, columns["feedback comments"]] = _moodle_feedback(result, export.shows)
        most = sheet.value(cells, columns.get("maximum grade"))
        if most and not is_number(most, result.max_score):
            export.note(
                f"{stem}: Moodle's maximum is {most}, ours {format_points(result.max_score)}; scores are"
                " written as they are, so change that in Moodle."
            )
    export.note(f"{stem}, left out, because Moodle says that their grade cannot be changed", fixed)
    if not known:
        raise GraderError(f"{sheet.path}: none of its students has a result. {' '.join(export.notes)}")
    export.add_file(f"{stem}.csv", sheet.filled(values))
    export.note(f"{stem}, grades filled in: {sum(column == columns['grade'] for _, column in values)}.")


def _moodle_feedback(result: Result, shows: Feedback) -> str:
    """The feedback for the student on one line, as a cell that is not a formula."""
    blocks: list[Block] = about_submission(result)
    for answer in () if result.error else result.questions:
        blocks.append(Paragraph(f"{answer.id}: {points_text(answer.score, answer.max_score)}."))
        blocks += [] if answer.in_full else about_question(result, answer, shows)
    line = " ".join(plain(blocks).split())
    return without_formula(line if len(line) <= _MAX_FEEDBACK else line[: _MAX_FEEDBACK - 1] + "…")


FORMAT = Format(
    "moodle",
    _write,
    help="`<assignment>.csv`: e-mail address, ID number, score and feedback of each user in your gradebook,"
    " or your grading worksheet, filled in",
    advice="import the file in Moodle's gradebook, or upload a worksheet on the assignment's page. Scores"
    " that you import into the gradebook can't be edited on that page",
    gradebook="the gradebook that you exported from Moodle, as CSV, or one assignment's grading worksheet",
    needs_gradebook=True,
)
