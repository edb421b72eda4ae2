"""Outside: what many students were told, counted; diagnoses that differ in their numbers only are one."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

# A number that stands alone: the digits of `float32` or `fc1` are part of a name.
_NUMBER = re.compile(r"(?<![\w.])-?\d++(?:\.\d++)?(?:e[-+]?\d++)?(?!\w)")

# Whose line it was, and which, differs from student to student; see `grader.checks.diagnosis`.
_OWN_LINE = re.compile(r"(?:^|(?<=: ))[Ii]n (?:.{1,200} \()?code cell [^`]{1,80}: `[^`]*`(?= stopped with )")


@dataclass(frozen=True)
class Told:
    """One diagnosis.

    Attributes:
        message: its most frequent wording, or None where there was none.
        number: how many were told it, or the same with other numbers.
        alike: how many of them were told other numbers.
    """

    message: str | None
    number: int
    alike: int


def counted(told: Iterable[tuple[str | None, int]]) -> list[Told]:
    """Diagnoses, each with how many were told so; the most frequent first."""
    wordings: dict[str | None, Counter[str | None]] = defaultdict(Counter)
    for message, number in told:
        wordings[pattern_of(message)][message] += number
    found = []
    for wording in wordings.values():
        ((message, most),) = wording.most_common(1)
        found.append(Told(message, wording.total(), wording.total() - most))
    return sorted(found, key=lambda one: -one.number)


@lru_cache(maxsize=10_000)
def pattern_of(message: str | None) -> str | None:
    """What a diagnosis has in common with those that say the same of other numbers."""
    return message and _NUMBER.sub("\0", _OWN_LINE.sub("\0", message))
