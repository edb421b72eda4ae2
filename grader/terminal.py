"""Outside: what people see on a terminal: progress while it lasts, a table at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from grader.gradebook import number
from grader.text import inert

if TYPE_CHECKING:
    from grader.doctor import Examination
    from grader.grading import Outcome
    from grader.result import Result

_MAX_WIDTH = 40


@contextmanager
def class_progress() -> Iterator[Callable[[int, int], None]]:
    """A function that is told (done, total), and shows them where somebody watches."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("starting the cage", total=None)
        yield lambda done, total: shown.update(task, description="grading", completed=done, total=total)


def print_class(outcome: Outcome, out: Path) -> None:
    """The class as a table, then where everything lies."""
    console = Console(emoji=False)
    table = Table("student", "assignment", box=None, pad_edge=False, header_style="bold")
    table.add_column("score", justify="right")
    for column in ("status", "remark"):
        table.add_column(column)
    for _, result in outcome.results:
        table.add_row(*_row(result))
    for student, stem in outcome.absent:
        table.add_row(_plain(student), stem, "0", "[yellow]absent[/]", "")
    console.print(table)
    graded = sum(result["status"] == "graded" for _, result in outcome.results)
    errors = len(outcome.results) - graded
    console.print(
        f"\n{graded} graded, {errors} in error, {outcome.fresh} new. Protection: {outcome.protection}.",
        highlight=False,
    )
    if outcome.without:
        names = ", ".join(map(_plain, outcome.without))
        console.print(f"[yellow]No notebook in:[/] {names}", highlight=False)
    for name, what in (
        ("gradebook.csv", "the gradebook"),
        ("report.html", "the class"),
        ("feedback", "for each student"),
    ):
        console.print(f"  {out / name}  {what}", markup=False, highlight=False, soft_wrap=True)


def _row(result: Result) -> list[str]:
    score = f"{number(result['score'])} of {number(result['max_score'])}"
    status = "graded" if result["status"] == "graded" else "[red]error[/]"
    return [
        _plain(result["student"]),
        _plain(result["assignment"] or result["notebook"]),
        score,
        status,
        _remark(result),
    ]


def _remark(result: Result) -> str:
    """What a human should know at a glance."""
    if result["error"]:
        return escape(inert(result["error"]))
    unanswered = [q["id"] for q in result["questions"] if q["status"] != "answered"]
    remarks = [f"not answered: {', '.join(unanswered)}"] if unanswered else []
    remarks += (
        [f"flagged: {', '.join(sorted({flag['what'] for flag in result['flags']}))}"]
        if result["flags"]
        else []
    )
    remarks += [f"{len(result['superseded'])} older left aside"] if result["superseded"] else []
    return escape(inert("; ".join(remarks)))


def _plain(text: str) -> str:
    """A stranger's name, cut and without markup or control characters."""
    text = inert(text)
    return escape(text if len(text) <= _MAX_WIDTH else text[: _MAX_WIDTH - 1] + "…")


def print_examination(console: Console, found: Examination, *, verbose: bool) -> None:
    """What the doctor says about one assignment."""
    right, wrong = found.answers
    summary = (
        f": {len(found.kills)} checks, {right} accepted and {wrong} wrong answers" if found.kills else ""
    )
    console.print(f"[bold]{escape(found.stem)}[/]{summary}", highlight=False)
    if verbose:
        table = Table("question", "wrong answer", "fails", "is told", box=None)
        for question, name, failed, message in found.diagnoses:
            table.add_row(question, name, "\n".join(failed), escape(message))
        console.print(table)
    for complaint in found.complaints:
        console.print(f"  ✗ {complaint}", markup=False, highlight=False, soft_wrap=True)
