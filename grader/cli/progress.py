"""The progress of a run on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text

from grader import signals as interrupt
from grader.grading.options import Progress, ProgressCallback, pace


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
