"""Outside: who of a teacher's list is which student; nobody is guessed."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from grader.integrations.export.exported import MOST
from grader.text import file_name, some


@dataclass
class Matched:
    """Rows of a list by student.

    Attributes:
        rows: where each student is, by name.
        unknown: students of whom no row speaks.
        ambiguous: students who may be several rows, or of whom several may be the same row.
    """

    rows: dict[str, int] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    ambiguous: list[str] = field(default_factory=list)

    def notes(self, place: str) -> list[str]:
        """What whoever exports has to know."""
        told = []
        if self.unknown:
            told.append(f"Not in {place}, so left out: {'; '.join(some(self.unknown, MOST))}.")
        if self.ambiguous:
            told.append(
                f"Left out, because several rows of {place} fit, or several students one row:"
                f" {'; '.join(some(self.ambiguous, MOST))}."
            )
        return told


def match(students: Iterable[str], names: Mapping[int, Sequence[str]]) -> Matched:
    """Find every student's row.

    A student is whoever has exactly the folder's name as a number, login, address or full name.

    Args:
        students: names of their folders.
        names: all that each row calls its person, by the row.
    """
    rows: dict[str, set[int]] = defaultdict(set)
    for row, called in names.items():
        for name in called:
            for spelling in _spellings(name):
                rows[spelling].add(row)
    students = sorted(set(students))
    found = {student: rows.get(_folded(student), set()) for student in students}
    claims: dict[int, list[str]] = defaultdict(list)
    for student, candidates in found.items():
        for row in candidates:
            claims[row].append(student)
    matched = Matched()
    for student, candidates in found.items():
        if not candidates:
            matched.unknown.append(student)
        elif len(candidates) > 1 or any(len(claims[row]) > 1 for row in candidates):
            matched.ambiguous.append(student)
        else:
            matched.rows[student] = next(iter(candidates))
    return matched


def _spellings(name: str) -> set[str]:
    """A name as it stands, as a folder is called, and with the family's name at the other end."""
    family, comma, given = (part.strip() for part in name.partition(","))
    spelled = [name.strip(), f"{given} {family}"] if comma and given else [name.strip()]
    return {_folded(form) for one in spelled if one for form in (one, file_name(one))}


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
