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
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from grader.course.settings import Feedback
from grader.errors import GraderError
from grader.integrations.export import Export, feedback_text, plain_text
from grader.people.roster import name_keys
from grader.results.gradebook import gradebook_lines
from grader.results.model import Result
from grader.scores import format_points, points_text, total
from grader.sheets import Sheet, read_sheet
from grader.text import file_name, some, without_formula

Names = Mapping[int, Sequence[str]]
"""By row of a gradebook, all names of its person."""

CANVAS_FILE = "canvas.csv"
_CANVAS_NAMES = ("ID", "SIS User ID", "SIS Login ID", "Student")
_TITLE = re.compile(r"(?P<title>.*\S)\s*\((?P<id>\d+)\)")
_ROUNDING = 1e-6
_NO_NAME = re.compile(r"[\d@]")
_MOST_NAMED = 20

_ADDRESSES = ("email address", "email")
_NUMBERS = ("id number",)
_MOODLE_NAMES = (_ADDRESSES, _NUMBERS, ("username",), ("user name",), ("full name",))
_GIVEN, _FAMILY = ("first name",), ("last name", "surname")
_MAX_FEEDBACK = 2000  # characters


def write_canvas(export: Export) -> None:
    """Write ``canvas.csv``, the teacher's own gradebook filled in.

    Raises:
        GraderError: an assignment has no column or several, or the file is not Canvas's.
    """
    sheet = _read_gradebook(export)
    headings = sheet.rows[0]
    if not {"Student", "ID"} <= {*headings}:
        raise GraderError(
            f"{sheet.path} is not a gradebook of Canvas (no columns Student and ID): export it there by"
            " Grades, Export"
        )
    if (export.out / CANVAS_FILE).resolve() == sheet.path.resolve():
        raise GraderError(f"{sheet.path} would be overwritten: choose another --out")
    columns = [headings.index(name) for name in _CANVAS_NAMES if name in headings]
    names = {}
    for row, cells in enumerate(sheet.rows):
        if row and sheet.value(cells, headings.index("ID")):
            every = [sheet.value(cells, column) for column in columns]
            names[row] = [name for name in every if name]
    values: dict[tuple[int, int], str] = {}
    for stem, results in export.results.items():
        column = _canvas_column(export, sheet, stem)
        if column is not None:
            values |= _canvas_scores(export, sheet, column, results, names)
    if not values:
        raise GraderError(
            f"{sheet.path}: nothing could be filled in. {' '.join(export.notes)} Students' folders are looked"
            f" for in the columns {', '.join(_CANVAS_NAMES)}: name them as one of these does"
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
    export: Export, sheet: Sheet, column: int, results: Sequence[Result], names: Names
) -> dict[tuple[int, int], str]:
    """The scores by row and column; adds notes about what was filled in, and points that differ.

    Raises:
        GraderError: Canvas computes the column itself.
    """
    heading, possible = sheet.rows[0][column], _points_possible(sheet, column)
    if possible.casefold() == "(read only)":
        raise GraderError(f"Canvas computes the column {heading} itself: name another by --column")
    most = max(result.max_score for result in results)
    if not _is_number(possible, most):
        export.note(
            f"{heading}: Canvas has {possible or 'no'} points possible, the assignment"
            f" {format_points(most)}; scores are written as they are, so change that in Canvas."
        )
    known = _with_rows(export, sheet, results, names)
    filled = {(row, column): sheet.number(format_points(result.score)) for result, row in known}
    before = {cell: sheet.value(sheet.rows[cell[0]], column) for cell in filled}
    changed = sum(before[cell] not in {"", value} for cell, value in filled.items())
    replaced = f", in the place of others: {changed}" if changed else ""
    left = len(names) - len(filled)
    export.note(f"{heading}, scores filled in: {len(filled)}{replaced}; rows left as they are: {left}.")
    return filled


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

    def find(wanted: Sequence[str]) -> int | None:
        return next((column for column, heading in enumerate(headings) if heading in wanted), None)

    user_columns = find(_ADDRESSES), find(_NUMBERS)
    if user_columns[0] is None:
        raise GraderError(
            f"{sheet.path} has no column Email address ({', '.join(sheet.rows[0])}): export the gradebook in"
            " Moodle by Grades, Export, Plain text file"
        )
    names: dict[int, list[str]] = {}
    for number, cells in enumerate(sheet.rows[1:], 1):
        full = f"{sheet.value(cells, find(_GIVEN))} {sheet.value(cells, find(_FAMILY))}".strip()
        every = (*(sheet.value(cells, find(wanted)) for wanted in _MOODLE_NAMES), full)
        names[number] = [name for name in every if name]
    for stem, results in export.results.items():
        lines, formulas = [], []
        for result, row in _with_rows(export, sheet, results, names):
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
    naming = [columns[name] for name in ("email address", "id number", "full name") if name in columns]
    names = {
        row: [name for column in naming if (name := sheet.value(cells, column))]
        for row, cells in enumerate(sheet.rows[1:], 1)
    }
    values: dict[tuple[int, int], str] = {}
    fixed = []
    for result, row in _with_rows(export, sheet, results, names):
        cells = sheet.rows[row]
        if sheet.value(cells, columns.get("grade can be changed")).casefold() == "no":
            fixed.append(result.student)
            continue
        values[row, columns["grade"]] = sheet.number(format_points(result.score))
        if "feedback comments" in columns:
            values[row, columns["feedback comments"]] = _moodle_feedback(result, export.shows)
        most = sheet.value(cells, columns.get("maximum grade"))
        if most and not _is_number(most, result.max_score):
            export.note(
                f"{stem}: Moodle's maximum is {most}, ours {format_points(result.max_score)}; scores are"
                " written as they are, so change that in Moodle."
            )
    export.note(f"{stem}, left out, because Moodle says that their grade cannot be changed", fixed)
    if not values:
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
    export: Export, sheet: Sheet, results: Sequence[Result], names: Names
) -> list[tuple[Result, int]]:
    """The results whose students have a row, each with it; adds notes about the others."""
    called = {result.student: export.names_of(result.student) for result in results}
    rows, unknown, ambiguous = match(called, names)
    export.note(f"Not in {sheet.path}, so left out", unknown)
    export.note(f"Left out, because several rows of {sheet.path} fit, or several students one row", ambiguous)
    return [(result, rows[result.student]) for result in results if result.student in rows]


def write_wide(export: Export) -> None:
    """Write ``grades.csv``: a row for each student, absent ones too, and a column for each assignment."""
    lines = gradebook_lines(export.folder)
    stems = [stem for stem in sorted({stem for _, stem in lines}) if stem in export.results]
    most = {stem: max(result.max_score for result in export.results[stem]) for stem in stems}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", "name", "email", *stems, "total", "max", "percent"])
    for student in sorted({student for student, stem in lines if stem in stems}):
        scores = [lines[student, stem]["score"] if (student, stem) in lines else "0" for stem in stems]
        person = export.person(student)
        names = [person.name, person.ids.get("email", "")] if person else ["", ""]
        earned, of = total(map(float, scores)), total(most.values())
        share = f"{100 * earned / of:.1f}" if of else ""
        cells = [student, *(without_formula(name) for name in names), *scores]
        writer.writerow([*cells, format_points(earned), format_points(of), share])
    export.write("grades.csv", text.getvalue())


def match(students: Mapping[str, Sequence[str]], names: Names) -> tuple[dict[str, int], list[str], list[str]]:
    """Find each student's row, where a name is exactly one of the student's.

    Where no row has such a name, case, accents and the order of words do not matter.

    Args:
        students: all that each may be called, by the name of the folder; what is surest first.
        names: for each row, all names of its person.

    Returns:
        The row of each student; students without a row; and students whom several rows fit, or who share one.
    """
    exact: dict[str, set[int]] = defaultdict(set)
    alike: dict[str, set[int]] = defaultdict(set)
    for row, row_names in names.items():
        for name in row_names:
            exact[_folded(name)].add(row)
            exact[_folded(file_name(name))].add(row)
            for key in _keys(name):
                alike[key].add(row)
    fitting = {student: _fitting(students[student], exact, alike) for student in sorted(students)}
    claims = Counter(row for candidates in fitting.values() for row in candidates)
    unknown = [student for student, candidates in fitting.items() if not candidates]
    certain = {
        student: next(iter(candidates))
        for student, candidates in fitting.items()
        if len(candidates) == 1 and all(claims[row] == 1 for row in candidates)
    }
    return certain, unknown, [student for student in fitting if student not in {*certain, *unknown}]


def _fitting(called: Sequence[str], exact: Mapping[str, set[int]], alike: Mapping[str, set[int]]) -> set[int]:
    """The rows that fit the first name that fits any."""
    for name in called:
        if rows := exact.get(_folded(name), set()):
            return rows
    keys = [key for name in called for key in _keys(name)]
    return next((rows for key in keys if (rows := alike.get(key, set()))), set())


def _keys(name: str) -> set[str]:
    """Of a person's name; a number, a login or an address is only ever itself."""
    return set() if _NO_NAME.search(name) else name_keys(name)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
