"""The output of a run on a terminal or in a log: its progress, then the class and what to do next.

The class has a row for each submission or, if it is large, a summary.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from grader import signals as interrupt
from grader.grading.run_summary import GRADING, Progress, ProgressCallback, RunSummary
from grader.reports.progress import progress_bar
from grader.reports.review import review_of, reviews_of
from grader.results.changes import FILE_NAME as CHANGES_FILE_NAME
from grader.results.model import Result, sandbox_of
from grader.results.statistics import summarise
from grader.scores import format_points, points_text
from grader.text import some, terminal_text

_MAX_WIDTH = 40
_MAX_ROWS = 100  # of more, a summary is shown
_MAX_NAMED = 20
_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def class_progress(go_on: str, clock: Callable[[], float] = time.monotonic) -> Iterator[ProgressCallback]:
    """A callback that shows the progress of a run on stderr: a bar on a terminal, otherwise a few lines.

    Args:
        go_on: the next step after an interruption, if a notebook was graded already.
        clock: the time in seconds.
    """
    progress = Progress()
    console = Console(stderr=True)
    lines = None if console.is_terminal else _Lines(clock)
    with progress_bar(console, clock) as bar:
        task = bar.add_task("starting", total=None, note="")

        def show(now: Progress) -> None:
            nonlocal progress
            progress = now
            bar.update(
                task,
                description=now.doing,
                total=now.before + now.total,
                completed=now.before + now.done if now.has_begun else None,  # or it would count as the pace
                note=f"{now.errors} in error" if now.errors else "",
            )
            if lines is not None:
                lines.update(now, bar.tasks[0].time_remaining)

        again = "run the same command to start again"
        interrupt.when_interrupted(lambda: f"stopped {progress}; {go_on if progress.has_begun else again}.")
        yield show
    if lines is not None:
        lines.end(progress)


class _Lines:
    """Lines of a log: at the beginning, about every ten seconds, and at the end."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._has_begun = clock, False
        self._begun = self._last = 0.0

    def update(self, now: Progress, seconds_left: float | None) -> None:
        """Write a line, if it is time for one."""
        time_now = self._clock()
        if not self._has_begun:
            if now.total or now.before:
                self._has_begun, self._begun, self._last = True, time_now, time_now
                notebooks = "notebook" if now.total == 1 else "notebooks"
                _write(f"{now.total} {notebooks} to grade, {now.before} already graded")
        elif now.done < now.total and time_now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = time_now
            left = f"; {timedelta(seconds=round(seconds_left))} left" if seconds_left else ""
            _write(f"{_counted(now)}{left}" if now.done or now.doing == GRADING else now.doing)

    def end(self, now: Progress) -> None:
        """Write the last line, if anything was graded."""
        if now.total:
            _write(f"{_counted(now)}, in {timedelta(seconds=round(self._clock() - self._begun))}")


def _counted(now: Progress) -> str:
    in_error = f", {now.errors} in error" if now.errors else ""
    return f"{now.done} of {now.total} graded{in_error}"


def _write(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def print_class(run: RunSummary, out: Path) -> None:
    """Print the class as a table, then what was graded, what to review, the files and what to do next."""
    console = Console(emoji=False)
    if len(run.results) + len(run.missing) > _MAX_ROWS:
        _print_summary(console, run)
    else:
        _print_rows(console, run)
    console.print()
    errors = sum(result.status == "error" for result in run.results if not result.excuse)
    graded = f"{len(run.results) - errors} of {_submissions(len(run.results))}"
    _print_line(console, "Graded", f"{graded}, {errors} in error" if errors else graded)
    _print_line(console, "This run", _what_is_new(run))
    if missing := sum(not row.excuse for row in run.missing):
        _print_line(console, "Missing", _submissions(missing))
    sandbox = sandbox_of(run.results)
    if sandbox == "none":
        sandbox = "none; students' code ran with your permissions"
    _print_line(console, "Sandbox", sandbox or "not needed, because no notebook ran")
    _print_changes(console, run)
    if run.without_notebook:
        listed = ", ".join(some(map(_plain, run.without_notebook), _MAX_NAMED))
        console.print(f"[yellow]No notebook in:[/] {listed}", highlight=False)
    for sentence in some(run.unlisted, _MAX_NAMED):
        console.print(f"[yellow]{escape(terminal_text(sentence))}[/]", highlight=False)
    to_review = sum(not review.is_resubmission for review in reviews_of(run.results))
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
    for row in run.missing:
        score = "" if row.excuse else points_text(0, row.max_score)
        status = "excused" if row.excuse else "[yellow]missing[/]"
        table.add_row(_plain(row.student), row.assignment, score, status, "")
    console.print(table)


def _print_summary(console: Console, run: RunSummary) -> None:
    """Print a row for each assignment, then the submissions that need review."""
    figures = ("submissions", "mean", "in error", "flagged", "missing")
    table = _table("assignment", **dict.fromkeys(figures, "right"))
    missing = Counter(row.assignment for row in run.missing if not row.excuse)
    for summary in summarise(run.results):
        mean = "" if summary.mean is None else f"{summary.mean:.1f} of {format_points(summary.max_score)}"
        counts = map(str, (summary.errors, summary.flagged, missing[summary.stem]))
        table.add_row(_plain(summary.stem), str(summary.submissions), mean, *counts)
    console.print(table)
    to_review = reviews_of(run.results)
    if to_review:
        console.print("\nNeeds review:", highlight=False)
        named = _table("student", "assignment", remark="left")
        for review in to_review[:_MAX_NAMED]:
            reasons = escape(terminal_text(" ".join(review.reasons)))
            named.add_row(_plain(review.result.student), _plain(review.result.what), reasons)
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
    """Remarks for the instructor; the report says why a submission needs review."""
    if result.error:
        return escape(terminal_text(result.error))
    remarks = [f"not answered: {', '.join(result.unanswered)}"] if result.unanswered else []
    remarks += [result.about_kernel.removesuffix(".")] if result.language else []
    found = [f"{each.id}: {each.elsewhere}" for each in result.all_questions if each.elsewhere]
    remarks += [text.removesuffix(".") for text in some(found, 1)]
    remarks += [f"flagged: {', '.join(sorted({flag.what for flag in result.flags}))}"] if result.flags else []
    if result.superseded:
        versions = "version" if len(result.superseded) == 1 else "versions"
        remarks.append(f"{len(result.superseded)} other {versions} superseded")
    remarks += [f"{len(result.ignored)} ignored"] if result.ignored else []
    review = review_of(result)
    if review and not review.is_resubmission and not result.flags:
        remarks.append("needs review")
    return escape(terminal_text("; ".join(remarks)))


def _plain(text: str) -> str:
    """A student's name, cut and without markup or control characters."""
    text = terminal_text(text)
    return escape(text if len(text) <= _MAX_WIDTH else text[: _MAX_WIDTH - 1] + "…")
