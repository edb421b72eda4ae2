"""How far a run is, as it is told to whoever watches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Standing:
    """How far a run is; as text, how far it is when it is interrupted.

    Attributes:
        doing: what is being done, in a few words.
        before: how many submissions had a result that still holds when the run began.
        total: how many others there are to grade.
        done: how many of these have been looked at; none of them will be again.
        errors: how many of those done are in error.
    """

    doing: str = "starting"
    before: int = 0
    total: int = 0
    done: int = 0
    errors: int = 0

    def __str__(self) -> str:
        if not self.total:
            return "before anything was graded"
        before = f" ({self.before} were graded before)" if self.before else ""
        return f"after {self.done} of {self.total} notebooks{before}"


#: What is called whenever something has been done.
Progress = Callable[[Standing], None]


def pace(done: int, left: int, seconds: float) -> str:
    """How fast it goes and how long it will take, by what was done in some seconds; nothing is nothing."""
    if not done or seconds <= 0:
        return ""
    rate = done / seconds
    speed = f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min"
    return f"{speed}, {timedelta(seconds=round(left / rate))} left"
