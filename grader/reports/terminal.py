"""Outside: what people see of a class on a terminal: a row for everybody or, of a large one, a summary."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from grader.results.changes import FILE_NAME as CHANGES
from grader.results.changes import standing
from grader.results.review import cases
from grader.results.row import Row
from grader.results.summary import summarise
from grader.scores import format_points, total
from grader.text import inert, some

if TYPE_CHECKING:
    from grader.grading.outcome import Outcome

_MAX_WIDTH = 40
_MAX_ROWS = 100  # of more nobody reads each
_MAX_NAMED = 20


def print_class(outcome: Outcome, out: Path) -> None:
    """The class as a table, then where everything lies."""
    console = Console(emoji=False)
    if len(outcome.rows) + len(outcome.absent) > _MAX_ROWS:
        _print_summary(console, outcome)
    else:
        _print_rows(console, outcome)
    errors = sum(row.status == "error" for row in outcome.rows)
    graded = len(outcome.rows) - errors
    console.print(
        f"\n{graded} graded, {errors} in error, {_news(outcome)}. Protection: {outcome.protection}.",
        highlight=False,
    )
    _print_changes(console, outcome)
    if outcome.without:
        names = ", ".join(some(map(_plain, outcome.without), _MAX_NAMED))
        console.print(f"[yellow]No notebook in:[/] {names}", highlight=False)
    if outcome.unlisted:
        names = ", ".join(some(map(_plain, outcome.unlisted), _MAX_NAMED))
        console.print(f"[yellow]Not on the roster:[/] {names}", highlight=False)
    for name, what in (
        ("gradebook.csv", "the gradebook"),
        ("report.html", "the class"),
        ("feedback", "for each student"),
    ):
        console.print(f"  {out / name}  {what}", markup=False, highlight=False, soft_wrap=True)
    if outcome.note:
        Console(emoji=False, stderr=True).print(
            inert(outcome.note), markup=False, highlight=False, soft_wrap=True
        )


def _news(outcome: Outcome) -> str:
    again = f", {outcome.again} judged again" if outcome.again else ""
    return f"{outcome.fresh} new{again}"


def _print_rows(console: Console, outcome: Outcome) -> None:
    table = _table("student", "assignment", score="right", status="left", remark="left")
    noticed = {id(case.row) for case in cases(outcome.rows)}
    for row in outcome.rows:
        status = "graded" if row.status == "graded" else "[red]error[/]"
        score = f"{format_points(row.score)} of {format_points(row.max_score)}"
        remark = _remark(row, noticed=id(row) in noticed)
        table.add_row(_plain(row.student), _plain(row.what), score, status, remark)
    for student, stem in outcome.absent:
        worth = outcome.points.get(stem)
        score = "0" if worth is None else f"0 of {format_points(total(worth.values()))}"
        table.add_row(_plain(student), stem, score, "[yellow]absent[/]", "")
    console.print(table)


def _print_summary(console: Console, outcome: Outcome) -> None:
    """Each assignment in a row, then who needs a human's look."""
    figures = ("submissions", "mean", "in error", "flagged", "absent")
    table = _table("assignment", **dict.fromkeys(figures, "right"))
    absent = Counter(stem for _, stem in outcome.absent)
    for one in summarise(outcome.rows):
        mean = f"{one.mean:.1f} of {format_points(one.max_score)}"
        counts = map(str, (one.errors, one.flagged, absent[one.stem]))
        table.add_row(_plain(one.stem), str(len(one.scores)), mean, *counts)
    console.print(table)
    odd = cases(outcome.rows)
    if odd:
        console.print("\nLook at these yourself:", highlight=False)
        named = _table("student", "assignment", remark="left")
        for case in odd[:_MAX_NAMED]:
            reasons = escape(inert(" ".join(case.reasons)))
            named.add_row(_plain(case.row.student), _plain(case.row.what), reasons)
        console.print(named)
    if len(odd) > _MAX_NAMED:
        console.print(f"... and {len(odd) - _MAX_NAMED} more, see report.html", highlight=False)


def _print_changes(console: Console, outcome: Outcome) -> None:
    """Whose score or status is another than before, and why."""
    if not outcome.changes:
        return
    number_of = len(outcome.changes)
    console.print(f"\n{number_of} {'result' if number_of == 1 else 'results'} changed:", highlight=False)
    table = _table("student", "assignment", before="right", after="right", why="left")
    for change in outcome.changes[:_MAX_NAMED]:
        figures = _plain(standing(change.before)), _plain(standing(change.after))
        table.add_row(_plain(change.student), _plain(change.assignment), *figures, change.why)
    console.print(table)
    if number_of > _MAX_NAMED:
        console.print(f"and {number_of - _MAX_NAMED} more, see {CHANGES}", highlight=False)


def _table(*left: str, **columns: str) -> Table:
    table = Table(*left, box=None, pad_edge=False, header_style="bold")
    for heading, justify in columns.items():
        table.add_column(heading, justify="right" if justify == "right" else "left")
    return table


def _remark(row: Row, *, noticed: bool) -> str:
    """What a human should know at a glance; of who was noticed the report says why."""
    if row.error:
        return escape(inert(row.error))
    remarks = [f"not answered: {', '.join(row.unanswered)}"] if row.unanswered else []
    remarks += [f"flagged: {', '.join(sorted({what for what, _ in row.flags}))}"] if row.flags else []
    remarks += [f"{len(row.superseded)} more left aside"] if row.superseded else []
    remarks += ["look at it, see report.html"] if noticed and not (row.flags or row.superseded) else []
    return escape(inert("; ".join(remarks)))


def _plain(text: str) -> str:
    """A stranger's name, cut and without markup or control characters."""
    text = inert(text)
    return escape(text if len(text) <= _MAX_WIDTH else text[: _MAX_WIDTH - 1] + "…")
