"""What people see of a class on a terminal: a row for each submission or, of a large class, a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from grader.results.changes import FILE_NAME as CHANGES
from grader.results.changes import Change, score_text
from grader.results.model import Result
from grader.results.review import cases
from grader.results.statistics import summarise
from grader.scores import format_points, points_text, total
from grader.text import some, terminal_text

_MAX_WIDTH = 40
_MAX_ROWS = 100  # of more, a summary is shown
_MAX_NAMED = 20


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """What a run gave.

    Attributes:
        results: of every submission that was found and has been graded, now or before.
        absent: (student, stem) of the roster without a submission.
        fresh: how many results are new.
        without: folders without a notebook.
        note: what else the instructor should know, in a sentence.
        judged_again: how many were judged again from what had been observed before; they are not new.
        unlisted: students who handed in and are not on the roster.
        points: what each question is worth, of the assignments that a student is absent from.
    """

    results: list[Result]
    absent: list[tuple[str, str]]
    protection: str
    fresh: int
    without: list[str]
    note: str | None = None
    changes: list[Change] = field(default_factory=list)
    judged_again: int = 0
    unlisted: list[str] = field(default_factory=list)
    points: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def print_class(run: RunSummary, out: Path) -> None:
    """The class as a table, then where everything lies."""
    console = Console(emoji=False)
    if len(run.results) + len(run.absent) > _MAX_ROWS:
        _print_summary(console, run)
    else:
        _print_rows(console, run)
    errors = sum(result.status == "error" for result in run.results)
    graded = len(run.results) - errors
    console.print(
        f"\n{graded} graded, {errors} in error, {_news(run)}. Protection: {run.protection}.",
        highlight=False,
    )
    _print_changes(console, run)
    if run.without:
        names = ", ".join(some(map(_plain, run.without), _MAX_NAMED))
        console.print(f"[yellow]No notebook in:[/] {names}", highlight=False)
    if run.unlisted:
        names = ", ".join(some(map(_plain, run.unlisted), _MAX_NAMED))
        console.print(f"[yellow]Not on the roster:[/] {names}", highlight=False)
    for name, what in (
        ("gradebook.csv", "the gradebook"),
        ("report.html", "the class"),
        ("feedback", "for each student"),
    ):
        console.print(f"  {out / name}  {what}", markup=False, highlight=False, soft_wrap=True)
    if run.note:
        Console(emoji=False, stderr=True).print(
            terminal_text(run.note), markup=False, highlight=False, soft_wrap=True
        )


def _news(run: RunSummary) -> str:
    again = f", {run.judged_again} judged again" if run.judged_again else ""
    return f"{run.fresh} new{again}"


def _print_rows(console: Console, run: RunSummary) -> None:
    table = _table("student", "assignment", score="right", status="left", remark="left")
    needing = {id(case.result) for case in cases(run.results)}
    for result in run.results:
        status = "graded" if result.status == "graded" else "[red]error[/]"
        score = points_text(result.score, result.max_score)
        remark = _remark(result, needs_a_look=id(result) in needing)
        table.add_row(_plain(result.student), _plain(result.what), score, status, remark)
    for student, stem in run.absent:
        worth = run.points.get(stem)
        score = "0" if worth is None else f"0 of {format_points(total(worth.values()))}"
        table.add_row(_plain(student), stem, score, "[yellow]absent[/]", "")
    console.print(table)


def _print_summary(console: Console, run: RunSummary) -> None:
    """Each assignment in a row, then the submissions that need a human."""
    figures = ("submissions", "mean", "in error", "flagged", "absent")
    table = _table("assignment", **dict.fromkeys(figures, "right"))
    absent = Counter(stem for _, stem in run.absent)
    for summary in summarise(run.results):
        mean = f"{summary.mean:.1f} of {format_points(summary.max_score)}"
        counts = map(str, (summary.errors, summary.flagged, absent[summary.stem]))
        table.add_row(_plain(summary.stem), str(len(summary.scores)), mean, *counts)
    console.print(table)
    to_review = cases(run.results)
    if to_review:
        console.print("\nLook at these yourself:", highlight=False)
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
        figures = _plain(score_text(change.before)), _plain(score_text(change.after))
        table.add_row(_plain(change.student), _plain(change.assignment), *figures, change.why)
    console.print(table)
    if number > _MAX_NAMED:
        console.print(f"and {number - _MAX_NAMED} more, see {CHANGES}", highlight=False)


def _table(*left: str, **columns: str) -> Table:
    table = Table(*left, box=None, pad_edge=False, header_style="bold")
    for heading, justify in columns.items():
        table.add_column(heading, justify="right" if justify == "right" else "left")
    return table


def _remark(result: Result, *, needs_a_look: bool) -> str:
    """What a human should know at a glance; the report says why to look at a submission."""
    if result.error:
        return escape(terminal_text(result.error))
    remarks = [f"not answered: {', '.join(result.unanswered)}"] if result.unanswered else []
    remarks += [f"flagged: {', '.join(sorted({flag.what for flag in result.flags}))}"] if result.flags else []
    remarks += [f"{len(result.superseded)} more left aside"] if result.superseded else []
    remarks += (
        ["look at it, see report.html"] if needs_a_look and not (result.flags or result.superseded) else []
    )
    return escape(terminal_text("; ".join(remarks)))


def _plain(text: str) -> str:
    """A student's name, cut and without markup or control characters."""
    text = terminal_text(text)
    return escape(text if len(text) <= _MAX_WIDTH else text[: _MAX_WIDTH - 1] + "…")
