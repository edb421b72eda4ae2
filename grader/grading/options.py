"""What the caller of ``grade`` gives: its options, and a callback that is told the progress."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from grader.sandbox.plan import TimeLimits


@dataclass(frozen=True)
class Options:
    """The options of a run.

    Attributes:
        assignments: only these; empty for all.
        students: only these; empty for all.
        jobs: workers at a time, on this machine.
        force: grade again what is already graded.
        scheduler: address of a Dask scheduler whose machines observe instead of this machine.
    """

    assignments: Collection[str] = ()
    students: Collection[str] = ()
    jobs: int = 1
    force: bool = False
    sandbox: bool = True
    limits: TimeLimits = field(default_factory=TimeLimits)
    scheduler: str | None = None


@dataclass(frozen=True)
class Progress:
    """The progress of a run; as text, where it is when it is interrupted.

    Attributes:
        doing: the current step, in a few words.
        before: how many submissions had a current result when the run began.
        total: how many other submissions there are to grade.
        done: how many of these are done.
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


#: Called whenever a run has done something.
ProgressCallback = Callable[[Progress], None]


class ProgressReporter:
    """Keeps the progress of a run and calls back at each change."""

    def __init__(self, callback: ProgressCallback) -> None:
        self._progress, self._callback = Progress(), callback

    def report(self, **changes: Any) -> None:
        """Change fields of the progress."""
        self._progress = replace(self._progress, **changes)
        self._callback(self._progress)

    def count(self, *, in_error: bool) -> None:
        """Count a submission that is observed or cannot be; it may still wait to be judged."""
        self.report(done=self._progress.done + 1, errors=self._progress.errors + in_error)


def pace(done: int, left: int, seconds: float) -> str:
    """The speed and the time left, from what was done in some seconds; empty before anything is done."""
    if not done or seconds <= 0:
        return ""
    rate = done / seconds
    speed = f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min"
    return f"{speed}, {timedelta(seconds=round(left / rate))} left"
