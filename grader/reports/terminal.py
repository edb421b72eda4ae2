"""The output of a run: its progress, on a terminal or in a log, then the class and what to do next.

The class has a row for each submission or, if it is large, a summary.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from grader import signals as interrupt
from grader.results.changes import FILE_NAME as CHANGES_FILE_NAME
from grader.results.changes import Change
from grader.results.model import Absence, Result
from grader.results.statistics import case_of, cases, summarise
from grader.scores import format_points, points_text
from grader.text import some, terminal_text

_MAX_WIDTH = 40
_MAX_ROWS = 100  # of more, a summary is shown
_MAX_NAMED = 20
_SECONDS_BETWEEN_LINES = 10.0
GRADING = "grading"  # what a run does once references are observed


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

    @property
    def has_begun(self) -> bool:
        """Whether there may be something that another run can go on from."""
        return self.doing == GRADING or self.done > 0

    def __str__(self) -> str:
        if not self.has_begun:
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
        """Count a submission whose result is written."""
        self.report(done=self._progress.done + 1, errors=self._progress.errors + in_error)


def pace(done: int, left: int, seconds: float) -> str:
    """The speed and the time left, from what was done in some seconds; empty before anything is done."""
    if not done or seconds <= 0:
        return ""
    rate = done / seconds
    speed = f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min"
    return f"{speed}, {timedelta(seconds=round(left / rate))} left"


class _Pace:
    """The pace since grading began; references, which come first, do not count."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._begun: tuple[float, int] | None = None  # when it began, and what was done by then

    def update(self, now: Progress) -> None:
        """Take the time when grading begins."""
        if self._begun is None and now.doing == GRADING:
            self._begun = self._clock(), now.done

    def text(self, now: Progress) -> str:
        """The speed and the time left; empty before there is anything to tell."""
        if self._begun is None:
            return ""
        begun, done = self._begun
        return pace(now.done - done, now.total - now.done, self._clock() - begun)


@contextmanager
def class_progress(go_on: str, clock: Callable[[], float] = time.monotonic) -> Iterator[ProgressCallback]:
    """A callback that shows the progress of a run on stderr: in a line that changes, or in lines of a log.

    Args:
        go_on: what to do after an interruption, once a notebook has been graded.
        clock: the time in seconds.
    """
    display = _Display(clock) if sys.stderr.isatty() else _Lines(clock)
    progress = Progress()

    def tell(now: Progress) -> None:
        nonlocal progress
        progress = now
        display.update(now)

    again = "the same command begins again"
    interrupt.when_interrupted(lambda: f"stopped {progress}; {go_on if progress.has_begun else again}.")
    with display:
        yield tell


class _Lines:
    """Lines where there is no terminal: at the beginning, about every ten seconds, and at the end."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._pace, self._now = clock, _Pace(clock), Progress()
        self._begun = self._told = 0.0

    def __enter__(self) -> None:
        pass

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is None and self._now.total:
            taken = timedelta(seconds=round(self._clock() - self._begun))
            self._tell(f"{_counted(self._now)}; it took {taken}")

    def update(self, now: Progress) -> None:
        is_first, self._now = not (self._now.total or self._now.before), now
        time_now = self._clock()
        self._pace.update(now)
        if is_first and (now.total or now.before):
            self._begun = self._told = time_now
            were = "1 was" if now.before == 1 else f"{now.before} were"
            self._tell(f"{now.total} notebook{'' if now.total == 1 else 's'} to grade, {were} graded before")
        elif now.done < now.total and time_now - self._told >= _SECONDS_BETWEEN_LINES:
            self._told = time_now
            is_waiting = not now.done and now.doing != GRADING
            told = [now.doing] if is_waiting else [_counted(now), self._pace.text(now)]
            self._tell("; ".join(filter(None, told)))

    @staticmethod
    def _tell(line: str) -> None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _counted(now: Progress) -> str:
    in_error = f", {now.errors} in error" if now.errors else ""
    return f"{now.done} of {now.total} graded{in_error}"


class _Display:
    """One line on a terminal, gone at the end."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._pace = _Pace(clock)
        pace_column = _PaceColumn(self._pace)
        columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), pace_column)
        self._bars = Bars(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bars.add_task("starting", total=None)

    def __enter__(self) -> None:
        self._bars.start()

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def update(self, now: Progress) -> None:
        self._pace.update(now)
        total = now.before + now.total
        if now.before and now.total and self._bars.tasks[0].total is None:
            self._bars.console.print(f"{now.before} of {total} were graded before.", highlight=False)
        completed = now.before + now.done
        self._bars.update(self._task, description=now.doing, completed=completed, total=total, progress=now)


class _PaceColumn(ProgressColumn):
    """How fast it goes, how long it will take, and how many are in error."""

    def __init__(self, pace_of_run: _Pace) -> None:
        super().__init__()
        self._pace = pace_of_run

    def render(self, task: Task) -> Text:
        now: Progress = task.fields.get("progress", Progress())
        text = Text(self._pace.text(now))
        return text.append(f"  {now.errors} in error", "red") if now.errors else text


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """The outcome of a run.

    Attributes:
        results: the current result of every submission, from this run or an earlier one.
        fresh: how many submissions had no result before.
        without_notebook: names of students' folders without a notebook.
        notes: other sentences for the instructor.
        graded_again: how many other notebooks ran again.
        judged_again: how many other results were judged again from stored observations.
        unlisted: a sentence about each student who submitted and is not on the roster.
    """

    results: list[Result]
    absent: list[Absence]
    protection: str
    fresh: int
    without_notebook: list[str]
    notes: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    graded_again: int = 0
    judged_again: int = 0
    unlisted: list[str] = field(default_factory=list)


def print_class(run: RunSummary, out: Path) -> None:
    """Print the class as a table, then what was graded, what to review, the files and what to do next."""
    console = Console(emoji=False)
    if len(run.results) + len(run.absent) > _MAX_ROWS:
        _print_summary(console, run)
    else:
        _print_rows(console, run)
    console.print()
    errors = sum(result.status == "error" for result in run.results if not result.excuse)
    graded = f"{len(run.results) - errors} of {_submissions(len(run.results))}"
    _print_line(console, "Graded", f"{graded}, {errors} in error" if errors else graded)
    _print_line(console, "This run", _what_is_new(run))
    if missing := sum(not absence.excuse for absence in run.absent):
        _print_line(console, "Missing", _submissions(missing))
    unprotected = "none; students' code ran with your permissions"
    _print_line(console, "Sandbox", unprotected if run.protection == "none" else run.protection)
    _print_changes(console, run)
    if run.without_notebook:
        listed = ", ".join(some(map(_plain, run.without_notebook), _MAX_NAMED))
        console.print(f"[yellow]No notebook in:[/] {listed}", highlight=False)
    for sentence in some(run.unlisted, _MAX_NAMED):
        console.print(f"[yellow]{escape(terminal_text(sentence))}[/]", highlight=False)
    to_review = sum(not case.is_resubmission for case in cases(run.results))
    _print_line(console, "Needs review", _submissions(to_review) if to_review else "nothing")
    for label, name in (("Report", "report.html"), ("Gradebook", "gradebook.csv"), ("Feedback", "feedback")):
        _print_line(console, label, str(out / name))
    review = 'see "Needs review" in the report, then ' if to_review else ""
    _print_line(console, "Next", f"{review}export the scores: python -m grader export --help")
    option = "" if out == Path("results") else f" --results {shlex.quote(str(out))}"
    _print_line(console, "Details", f"python -m grader explain STUDENT ASSIGNMENT{option}")
    for note in run.notes:
        Console(emoji=False, stderr=True).print(
            terminal_text(note), markup=False, highlight=False, soft_wrap=True
        )


def _print_line(console: Console, label: str, value: str) -> None:
    console.print(f"{label}: {terminal_text(value)}", markup=False, highlight=False, soft_wrap=True)


def _submissions(number: int) -> str:
    return f"{number} submission{'' if number == 1 else 's'}"


def _what_is_new(run: RunSummary) -> str:
    """The number of results that this run wrote for each reason, without zeros."""
    counts = {"new": run.fresh, "graded again": run.graded_again, "judged again": run.judged_again}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "0 new"


def _print_rows(console: Console, run: RunSummary) -> None:
    table = _table("student", "assignment", score="right", status="left", remark="left")
    for result in run.results:
        status = "graded" if result.status == "graded" else "[red]error[/]"
        status = "excused" if result.excuse else status
        score = "" if result.excuse else points_text(result.score, result.max_score)
        table.add_row(_plain(result.student), _plain(result.what), score, status, _remark(result))
    for absence in run.absent:
        score = "" if absence.excuse else points_text(0, absence.max_score)
        status = "excused" if absence.excuse else "[yellow]missing[/]"
        table.add_row(_plain(absence.student), absence.assignment, score, status, "")
    console.print(table)


def _print_summary(console: Console, run: RunSummary) -> None:
    """Print a row for each assignment, then the submissions that need review."""
    figures = ("submissions", "mean", "in error", "flagged", "missing")
    table = _table("assignment", **dict.fromkeys(figures, "right"))
    absent = Counter(absence.assignment for absence in run.absent if not absence.excuse)
    for summary in summarise(run.results):
        mean = "" if summary.mean is None else f"{summary.mean:.1f} of {format_points(summary.max_score)}"
        counts = map(str, (summary.errors, summary.flagged, absent[summary.stem]))
        table.add_row(_plain(summary.stem), str(summary.submissions), mean, *counts)
    console.print(table)
    to_review = cases(run.results)
    if to_review:
        console.print("\nNeeds review:", highlight=False)
        named = _table("student", "assignment", remark="left")
        for case in to_review[:_MAX_NAMED]:
            reasons = escape(terminal_text(" ".join(case.reasons)))
            named.add_row(_plain(case.result.student), _plain(case.result.what), reasons)
        console.print(named)
    if len(to_review) > _MAX_NAMED:
        console.print(f"... and {len(to_review) - _MAX_NAMED} more, see report.html", highlight=False)


def _print_changes(console: Console, run: RunSummary) -> None:
    """The results with another score or status than before, and why."""
    if not run.changes:
        return
    number = len(run.changes)
    console.print(f"\n{number} {'result' if number == 1 else 'results'} changed:", highlight=False)
    table = _table("student", "assignment", before="right", after="right", why="left")
    for change in run.changes[:_MAX_NAMED]:
        figures = str(change.before), str(change.after)
        table.add_row(_plain(change.student), _plain(change.assignment), *figures, change.why)
    console.print(table)
    if number > _MAX_NAMED:
        console.print(f"and {number - _MAX_NAMED} more, see {CHANGES_FILE_NAME}", highlight=False)


def _table(*left: str, **columns: str) -> Table:
    table = Table(*left, box=None, pad_edge=False, header_style="bold")
    for heading, justify in columns.items():
        table.add_column(heading, justify="right" if justify == "right" else "left")
    return table


def _remark(result: Result) -> str:
    """What an instructor should know at a glance; the report says why a submission needs review."""
    if result.error:
        return escape(terminal_text(result.error))
    remarks = [f"not answered: {', '.join(result.unanswered)}"] if result.unanswered else []
    remarks += [f"flagged: {', '.join(sorted({flag.what for flag in result.flags}))}"] if result.flags else []
    if result.superseded:
        versions = "version" if len(result.superseded) == 1 else "versions"
        remarks.append(f"{len(result.superseded)} other {versions} superseded")
    remarks += [f"{len(result.ignored)} ignored"] if result.ignored else []
    case = case_of(result)
    if case and not case.is_resubmission and not result.flags:
        remarks.append("needs review")
    return escape(terminal_text("; ".join(remarks)))


def _plain(text: str) -> str:
    """A student's name, cut and without markup or control characters."""
    text = terminal_text(text)
    return escape(text if len(text) <= _MAX_WIDTH else text[: _MAX_WIDTH - 1] + "…")
