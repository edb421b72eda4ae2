"""Gradebooks that a teacher exported from Canvas or Moodle, filled in; a student's row is never guessed.

* **Canvas** takes its own file back: a column is filled for each assignment, and no other cell changes.
* **Moodle** fails a whole import at an unknown user, so users are taken from the teacher's export. Its
  grading worksheet, of one assignment, is filled in place.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Sequence

from grader.course.settings import Feedback
from grader.errors import GraderError
from grader.integrations.export import Export, feedback_text, plain_text
from grader.people.directory import Directory
from grader.people.roster import people_of_rows
from grader.results.model import Result
from grader.scores import format_points, points_text, total
from grader.sheets import Sheet, read_sheet
from grader.text import some, without_formula

CANVAS_FILE = "canvas.csv"
_TITLE = re.compile(r"(?P<title>.*\S)\s*\((?P<id>\d+)\)")
_ROUNDING = 1e-6
_MOST_NAMED = 20

_ADDRESSES = ("email address", "email")
_NUMBERS = ("id number",)
_IN_ENGLISH = (
    "its headings are in another language: export it with English chosen (in your profile, as the preferred"
    " language)"
)
_EXCUSED = frozenset({"ex", "excused", "n/a"})
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?|-")  # Moodle writes a hyphen where there is no grade
_MAX_FEEDBACK = 2000  # characters


def write_canvas(export: Export) -> None:
    """Write ``canvas.csv``, the teacher's own gradebook filled in.

    Raises:
        GraderError: an assignment has no column or several, or the file is not Canvas's.
    """
    sheet = _read_gradebook(export)
    headings = {heading.strip().casefold() for heading in sheet.rows[0]}
    if "id" not in headings or not ("student" in headings or {"lastname", "firstname"} <= headings):
        raise GraderError(
            f"{sheet.path} is not a gradebook of Canvas, which has the columns Student (or LastName and"
            f" FirstName) and ID: export it there by Grades, Export. Or {_IN_ENGLISH}"
        )
    if (export.out / CANVAS_FILE).resolve() == sheet.path.resolve():
        raise GraderError(f"{sheet.path} would be overwritten: choose another --out")
    people = people_of_rows(sheet)
    values: dict[tuple[int, int], str] = {}
    is_found = False
    for stem, results in export.results.items():
        column = _canvas_column(export, sheet, stem)
        if column is not None:
            known = _with_rows(export, sheet, results, people)
            is_found = is_found or bool(known)
            values |= _canvas_scores(export, sheet, column, known, people)
    if not is_found:
        raise GraderError(
            f"{sheet.path}: nothing could be filled in. {' '.join(export.notes)} Students are looked for in"
            " the columns ID, SIS User ID, SIS Login ID and by name: write what stands there into roster.csv"
            " (columns canvas id, number, login, name)"
        )
    export.write(CANVAS_FILE, sheet.filled(values))


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


def _points_possible(sheet: Sheet, column: int) -> str:
    row = next((row for row in sheet.rows[1:] if sheet.value(row, 0).casefold() == "points possible"), ())
    return sheet.value(row, column)


def _canvas_scores(
    export: Export, sheet: Sheet, column: int, known: Sequence[tuple[Result, int]], people: Directory
) -> dict[tuple[int, int], str]:
    """The scores by row and column; adds notes about what was filled in, and points that differ.

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
    if known and not _is_number(possible, most):
        export.note(
            f"{heading}: Canvas has {possible or 'no'} points possible, the assignment"
            f" {format_points(most)}; scores are written as they are, so change that in Canvas."
        )
    known = _without_marks(export, sheet, column, known, people)
    filled = {(row, column): sheet.number(format_points(result.score), [column]) for result, row in known}
    before = {cell: sheet.value(sheet.rows[cell[0]], column) for cell in filled}
    changed = sum(before[cell] not in {"", value} for cell, value in filled.items())
    replaced = f", in the place of others: {changed}" if changed else ""
    with_id = next(at for at, name in enumerate(sheet.rows[0]) if name.strip().casefold() == "id")
    left = sum(bool(sheet.value(cells, with_id)) for cells in sheet.rows[1:]) - len(filled)
    export.note(f"{heading}, scores filled in: {len(filled)}{replaced}; rows left as they are: {left}.")
    return filled


def _without_marks(
    export: Export, sheet: Sheet, column: int, known: Sequence[tuple[Result, int]], people: Directory
) -> list[tuple[Result, int]]:
    """The results whose cells are empty or hold a number; adds notes about cells that stay as they are."""
    heading, students = sheet.rows[0][column].strip(), {row: result.student for result, row in known}
    excused, others = [], []
    for person in people.people:
        cell = sheet.value(sheet.rows[person.line], column)
        if cell.casefold() in _EXCUSED:
            excused.append(f"{students.pop(person.line, person.name)} ({cell})")
        elif cell and person.line in students and not _NUMBER.fullmatch(cell):
            others.append(f"{students.pop(person.line)} ({cell})")
    export.note(f"{heading}, left as they are: excused or not assigned", excused)
    export.note(f"{heading}, left as they are, because what stands there is no number", others)
    return [(result, row) for result, row in known if row in students]


def _is_number(text: str, number: float) -> bool:
    """Whether a cell holds this number, with a point or a comma."""
    try:
        return abs(float(text.replace(",", ".")) - number) < _ROUNDING
    except ValueError:
        return False


def write_moodle(export: Export) -> None:
    """Write ``<stem>.csv`` with the users of the teacher's export who have a result.

    Raises:
        GraderError: the export has no addresses, or none of its users has a result.
    """
    sheet = _read_gradebook(export)
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
            f"{sheet.path} has no column Email address ({', '.join(sheet.rows[0])}). If it is Moodle's,"
            f" {_IN_ENGLISH}. Otherwise export the gradebook in Moodle by Grades, Export, Plain text file"
        )
    people = people_of_rows(sheet)
    for stem, results in export.results.items():
        lines, formulas = [], []
        for result, row in _with_rows(export, sheet, results, people):
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
            export.write(f"{stem}.csv", text.getvalue())
            export.note(f"{stem}, scores written: {len(lines)}.")
    if not export.files:
        raise GraderError(f"{sheet.path}: nobody of it has a result. {' '.join(export.notes)}")


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
    known = _with_rows(export, sheet, results, people)
    signs = [columns[name] for name in ("grade", "maximum grade") if name in columns]
    values: dict[tuple[int, int], str] = {}
    fixed = []
    for result, row in _without_marks(export, sheet, columns["grade"], known, people):
        cells = sheet.rows[row]
        if sheet.value(cells, columns.get("grade can be changed")).casefold() == "no":
            fixed.append(result.student)
            continue
        values[row, columns["grade"]] = sheet.number(format_points(result.score), signs)
        if "feedback comments" in columns:
            values[row, columns["feedback comments"]] = _moodle_feedback(result, export.shows)
        most = sheet.value(cells, columns.get("maximum grade"))
        if most and not _is_number(most, result.max_score):
            export.note(
                f"{stem}: Moodle's maximum is {most}, ours {format_points(result.max_score)}; scores are"
                " written as they are, so change that in Moodle."
            )
    export.note(f"{stem}, left out, because Moodle says that their grade cannot be changed", fixed)
    if not known:
        raise GraderError(f"{sheet.path}: nobody of it has a result. {' '.join(export.notes)}")
    export.write(f"{stem}.csv", sheet.filled(values))
    export.note(f"{stem}, grades filled in: {sum(column == columns['grade'] for _, column in values)}.")


def _moodle_feedback(result: Result, shows: Feedback) -> str:
    """What the student reads, on one line, as a cell that is no formula."""
    parts = [*([result.error] if result.error else []), *result.about_standing]
    for answer in () if result.error else result.questions:
        points = f"{answer.id}: {points_text(answer.score, answer.max_score)}."
        parts.append(" ".join(filter(None, (points, feedback_text(answer, shows)))))
    line = " ".join(plain_text(" ".join(parts)).split())
    return without_formula(line if len(line) <= _MAX_FEEDBACK else line[: _MAX_FEEDBACK - 1] + "…")


def _read_gradebook(export: Export) -> Sheet:
    """The teacher's own gradebook; its first row holds the headings.

    Raises:
        GraderError: it cannot be read, is no CSV in UTF-8, or is empty.
    """
    assert export.gradebook is not None  # `require_fitting_options` has seen to it
    sheet = read_sheet(export.gradebook)
    if not sheet.rows:
        raise GraderError(f"{sheet.path} is empty: export the gradebook again")
    return sheet


def _with_rows(
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


def write_wide(export: Export) -> None:
    """Write ``grades.csv``: a row for each student, missing ones too, and a column for each assignment."""
    scores = {(r.student, stem): r.score for stem, results in export.results.items() for r in results}
    stems = sorted(export.results)
    most = total(max(result.max_score for result in export.results[stem]) for stem in stems)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", "name", "email", *stems, "total", "max", "percent"])
    for student in sorted({*(student for student, _ in scores), *export.listed}):
        own = [scores.get((student, stem), 0.0) for stem in stems]
        person = export.person(student)
        name = person.name if person.line else ""
        names = [without_formula(text) for text in (student, name, person.ids.get("email", ""))]
        share = f"{100 * total(own) / most:.1f}" if most else ""
        writer.writerow([*names, *map(format_points, [*own, total(own), most]), share])
    export.write("grades.csv", text.getvalue())
