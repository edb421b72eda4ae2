"""The gradebook that a teacher exported, and the student of each row."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from grader.errors import GraderError
from grader.integrations.export import Export
from grader.results.model import Result
from grader.sheets import Sheet, read_sheet
from grader.text import file_name


def read_gradebook(export: Export) -> Sheet:
    """The teacher's own gradebook; its first row holds the headings.

    Raises:
        GraderError: no file was named; or it cannot be read, is no CSV in UTF-8, or is empty.
    """
    if export.gradebook is None:
        raise GraderError("no gradebook was named: add --gradebook FILE")
    sheet = read_sheet(export.gradebook)
    if not sheet.rows:
        raise GraderError(f"{sheet.path} is empty: export the gradebook again")
    return sheet


def matched(
    export: Export, sheet: Sheet, results: Sequence[Result], names: Mapping[int, Sequence[str]]
) -> list[tuple[Result, int]]:
    """The results whose students have a row, each with it; adds notes about the others."""
    rows, unknown, ambiguous = match((result.student for result in results), names)
    export.note(f"Not in {sheet.path}, so left out", unknown)
    export.note(f"Left out, because several rows of {sheet.path} fit, or several students one row", ambiguous)
    return [(result, rows[result.student]) for result in results if result.student in rows]


def match(
    students: Iterable[str], names: Mapping[int, Sequence[str]]
) -> tuple[dict[str, int], list[str], list[str]]:
    """Find each student's row: exactly the folder's name is a number, login, address or name in it.

    Args:
        students: the names of their folders.
        names: for each row, all names of its person.

    Returns:
        The row of each student; students without a row; and students whom several rows fit, or who share one.
    """
    rows: dict[str, set[int]] = defaultdict(set)
    for row, row_names in names.items():
        for spelling in {spelling for name in row_names for spelling in _spellings(name)}:
            rows[spelling].add(row)
    fitting = {student: rows.get(_folded(student), set()) for student in sorted(set(students))}
    claims: dict[int, int] = defaultdict(int)
    for candidates in fitting.values():
        for row in candidates:
            claims[row] += 1
    unknown = [student for student, candidates in fitting.items() if not candidates]
    certain = {
        student: next(iter(candidates))
        for student, candidates in fitting.items()
        if len(candidates) == 1 and all(claims[row] == 1 for row in candidates)
    }
    return certain, unknown, [student for student in fitting if student not in {*certain, *unknown}]


def _spellings(name: str) -> set[str]:
    """A name as it stands, as a folder's name, and as given name and family name."""
    family, comma, given = (part.strip() for part in name.partition(","))
    spelled = [name.strip(), f"{given} {family}"] if comma and given else [name.strip()]
    return {_folded(form) for each in spelled if each for form in (each, file_name(each))}


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
