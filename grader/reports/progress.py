"""The progress of a run: its figures, and its line on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text

from grader import signals as interrupt


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


ProgressCallback = Callable[[Progress], None]
"""Called whenever a run has done something."""


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


@contextmanager
def class_progress(go_on: str) -> Iterator[ProgressCallback]:
    """A callback that shows the progress of a run on a terminal, and nowhere else.

    `go_on` says what to do after an interruption, once a notebook has been graded.
    """
    display = _Display() if sys.stderr.isatty() else None
    progress = Progress()

    def tell(now: Progress) -> None:
        nonlocal progress
        progress = now
        if display:
            display.update(now)

    again = "the same command begins again"
    interrupt.when_interrupted(lambda: f"stopped {progress}; {go_on if progress.total else again}.")
    with display or nullcontext():
        yield tell


class _Display:
    """One line on a terminal, gone at the end."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), _Pace())
        self._bars = Bars(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bars.add_task("starting", total=None)

    def __enter__(self) -> None:
        self._bars.start()

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def update(self, now: Progress) -> None:
        total = now.before + now.total
        if now.before and now.total and self._bars.tasks[0].total is None:
            self._bars.console.print(f"{now.before} of {total} were graded before.", highlight=False)
        completed = now.before + now.done
        self._bars.update(self._task, description=now.doing, completed=completed, total=total, progress=now)


class _Pace(ProgressColumn):
    """How fast it goes, how long it will take, and how many are in error."""

    _begun: tuple[float, int] | None = None  # when grading began, and what was done by then

    def render(self, task: Task) -> Text:
        now: Progress = task.fields.get("progress", Progress())
        if not now.total or now.doing == Progress.doing:
            return Text()
        self._begun = self._begun or (time.monotonic(), now.done)
        begun, done = self._begun
        text = Text(pace(now.done - done, now.total - now.done, time.monotonic() - begun))
        return text.append(f"  {now.errors} in error", "red") if now.errors else text
