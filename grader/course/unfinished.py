"""Outside: the blanks of an assignment that was begun with ``new``, and where they stand.

A blank reads ``[FILL IN: what belongs here]``. In code it is a syntax error, on purpose: nothing that still
has one can be run by accident.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.names import ANSWERS, CHECKS, MASTER
from grader.errors import CourseError

if TYPE_CHECKING:
    from grader.course.course import Course

_BLANK = re.compile(r"\[FILL IN\b:?\s*(?P<wanted>[^]\n]*)\]?")
_SHOWN = 3


@dataclass(frozen=True)
class Blank:
    """A place that waits for its author: the file, the line counted from 1, and what belongs there."""

    path: Path
    line: int
    wanted: str

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.wanted}"


def has_blank(text: str) -> bool:
    """Whether a text has a blank."""
    return _BLANK.search(text) is not None


def without_blanks(text: str) -> str:
    """The same with a name of its own in the place of each blank, so that it can be parsed; lines stay."""
    numbers = count(1)
    return _BLANK.sub(lambda _: f"FILL_IN_{next(numbers)}", text)


def blanks_in(path: Path) -> list[Blank]:
    """The blanks of one file, in order; none where it cannot be read, which others complain about."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    return [
        Blank(path, text.count("\n", 0, match.start()) + 1, match["wanted"].strip())
        for match in _BLANK.finditer(text)
    ]


def blanks_of(root: Path, stem: str) -> list[Blank]:
    """The blanks of an assignment: of its master, its hidden checks and its known answers."""
    return [blank for place in (MASTER, CHECKS, ANSWERS) for blank in blanks_in(root / place.format(stem))]


def require_filled(root: Path, stem: str) -> None:
    """Refuse an assignment that is not written yet.

    Raises:
        CourseError: it has blanks; the text names the first of them, each with its file and line.
    """
    blanks = blanks_of(root, stem)
    if not blanks:
        return
    shown = "".join(f"\n  {blank}" for blank in blanks[:_SHOWN])
    more = f"\n  and {len(blanks) - _SHOWN} more" if len(blanks) > _SHOWN else ""
    count = "one blank" if len(blanks) == 1 else f"{len(blanks)} blanks"
    raise CourseError(
        f"{stem} still has {count}; put your text or code in the place of [FILL IN: ...], brackets"
        f" included:{shown}{more}"
    )


def finished(course: Course) -> Course:
    """The course without the assignments that still have blanks; perhaps without any."""
    stems = tuple(stem for stem in course.stems if not blanks_of(course.root, stem))
    return course if stems == course.stems else replace(course, stems=stems)


def without_unfinished(course: Course, wanted: Collection[str]) -> Course:
    """The course without the assignments that are not written yet: they stop nobody from grading the others.

    Args:
        course: the course.
        wanted: the assignments somebody asked for by name.

    Raises:
        CourseError: one of those asked for has blanks, or every assignment has.
    """
    whole = finished(course)
    for stem in course.stems:
        if stem in wanted or not whole.stems:
            require_filled(course.root, stem)
    return whole
