"""Outside: a gradebook exported from Canvas, with one column of it filled for each assignment.

No other cell changes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from grader.errors import GraderError
from grader.integrations.export import Export
from grader.integrations.export.gradebooks import CsvSheet, match
from grader.results.stored import Stored
from grader.scores import format_points
from grader.text import some

FILE_NAME = "canvas.csv"
_NAMED_BY = ("ID", "SIS User ID", "SIS Login ID", "Student")
_TITLE = re.compile(r"(?P<title>.*\S)\s*\((?P<id>\d+)\)")
_POINTS_POSSIBLE = "points possible"
_READ_ONLY = "(read only)"
_ROUNDING = 1e-6


def export(export: Export, sheet: CsvSheet, column: str | None, numbers: Mapping[str, str]) -> None:
    """Fill a column of the teacher's own gradebook for each assignment, and write it as ``canvas.csv``.

    Args:
        export: what, and where to.
        sheet: the gradebook as Canvas exported it.
        numbers: Canvas's own of those students of whom it is known.
        column: the heading, title or number of the column, where there is one assignment.

    Raises:
        GraderError: no column, or more than one, is an assignment's; or the file is not Canvas's.
    """
    _check(export, sheet)
    values: dict[tuple[int, int], str] = {}
    for stem, results in export.results.items():
        where = _column(sheet, stem, export.titles.get(stem), column)
        if where is None and len(export.results) > 1:
            export.note(f"{sheet.path} has no column for {stem}, so its results are left out.")
            continue
        if where is None:
            raise GraderError(
                f"{sheet.path} has no column for {stem}: make the assignment in Canvas and export the"
                f" gradebook again{_others(sheet)}"
            )
        filled = _fill(export, sheet, where, results, numbers)
        _count(export, sheet, where, filled)
        values |= filled
    if not values:
        raise GraderError(
            f"{sheet.path}: nothing could be filled in. {' '.join(export.notes)} Students' folders are looked"
            f" for in the columns {', '.join(_NAMED_BY)}: name them as one of these does"
        )
    export.write(FILE_NAME, sheet.filled(values))


def _check(export: Export, sheet: CsvSheet) -> None:
    """Refuse what is no gradebook of Canvas, and to write over it."""
    headings = sheet.headings
    if "Student" not in headings or "ID" not in headings:
        raise GraderError(
            f"{sheet.path} is not a gradebook of Canvas (no columns Student and ID): export it there by"
            " Grades, Export"
        )
    if (export.out / FILE_NAME).resolve() == sheet.path.resolve():
        raise GraderError(f"{sheet.path} would be overwritten: choose another --out")


def _count(export: Export, sheet: CsvSheet, column: int, filled: Mapping[tuple[int, int], str]) -> None:
    """Say how many scores were filled in, and how many of them stand in the place of others."""
    before = {at: sheet.value(sheet.rows[at[0]], column) for at in filled}
    changed = sum(before[at] not in {"", value} for at, value in filled.items())
    replaced = f", in the place of others: {changed}" if changed else ""
    others = len(_people(sheet, {})) - len(filled)
    export.note(
        f"{sheet.headings[column]}, scores filled in: {len(filled)}{replaced};"
        f" rows left as they are: {others}."
    )


def _column(sheet: CsvSheet, stem: str, title: str | None, column: str | None) -> int | None:
    """The column of an assignment; None where there is none."""
    titles = (stem, title, f"{int(stem[:2])}. {title}") if title else (stem,)
    wanted = {name.strip().casefold() for name in ((column,) if column is not None else titles) if name}
    found = [at for at, heading in enumerate(sheet.headings) if _called(heading) & wanted]
    if column is not None:  # whoever gives the whole heading means no other
        found = [at for at in found if sheet.headings[at].strip() == column.strip()] or found
    assignments = [at for at in found if _holds_points(sheet, at)]
    if found and not assignments:
        raise GraderError(
            f"{sheet.path}: {sheet.headings[found[0]].strip()} is no column of points, and scores would"
            f" overwrite what it says: export a gradebook that has the assignment{_others(sheet)}"
        )
    if len(assignments) > 1:
        named = ", ".join(sheet.headings[at] for at in assignments)
        raise GraderError(
            f"{sheet.path} has more than one column for {stem} ({named}): say which by --column"
        )
    return assignments[0] if assignments else None


def _called(heading: str) -> set[str]:
    """All that a column may be called: its heading, its title, its number."""
    heading = heading.strip()
    parts = _TITLE.fullmatch(heading)
    return {name.casefold() for name in (heading, *(parts.groups() if parts else ()))}


def _holds_points(sheet: CsvSheet, at: int) -> bool:
    """Whether a column is an assignment's: Canvas numbers it, or says how many points are possible."""
    possible = next((row for row in sheet.rows[1:] if _is_points_possible(sheet, row)), [])
    return bool(_TITLE.fullmatch(sheet.headings[at].strip()) or sheet.value(possible, at)) and at > 0


def _is_points_possible(sheet: CsvSheet, row: list[str]) -> bool:
    return sheet.value(row, 0).casefold() == _POINTS_POSSIBLE


def _others(sheet: CsvSheet) -> str:
    """The columns of assignments that there are, as the end of a sentence."""
    there = [heading.strip() for at, heading in enumerate(sheet.headings) if _holds_points(sheet, at)]
    if not there:
        return ""
    return (
        f", or name a column, as in --column {shlex.quote(there[0])}; there are {', '.join(some(there, 20))}"
    )


def _fill(
    export: Export, sheet: CsvSheet, column: int, results: Sequence[Stored], numbers: Mapping[str, str]
) -> dict[tuple[int, int], str]:
    """The scores, by their cells; notes of whoever is left out, and of points that differ."""
    heading = sheet.headings[column]
    for row in sheet.rows[1:]:
        if _is_points_possible(sheet, row):
            _compare(export, heading, sheet.value(row, column), max(one.max_score for one in results))
    matched = match((one.student for one in results), _people(sheet, numbers))
    export.notes.extend(note for note in matched.notes(str(sheet.path)) if note not in export.notes)
    return {
        (matched.rows[one.student], column): sheet.number(format_points(one.score))
        for one in results
        if one.student in matched.rows
    }


def _compare(export: Export, heading: str, possible: str, max_score: float) -> None:
    """Say where Canvas counts an assignment otherwise.

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


def _people(sheet: CsvSheet, numbers: Mapping[str, str]) -> dict[int, list[str]]:
    """What each row calls its person, with the student of its number; rows above these are no people."""
    columns = [sheet.headings.index(name) for name in _NAMED_BY if name in sheet.headings]
    identity = sheet.headings.index("ID")
    of_number = {format_points: student for student, format_points in numbers.items()}
    people = {}
    for at, row in enumerate(sheet.rows):
        if at and (format_points := sheet.value(row, identity)):
            called = [name for column in columns if (name := sheet.value(row, column))]
            people[at] = [*called, *([of_number[format_points]] if format_points in of_number else [])]
    return people
