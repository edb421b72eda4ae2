"""What a terminal shows of a long command: the progress of a run, and what the doctor finds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from grader import signals as interrupt
from grader.doctor.assignment_report import answer_messages, kill_matrices
from grader.doctor.mutation.survivors import survivor_lines
from grader.grading.progress import Progress, Standing, pace

if TYPE_CHECKING:
    from grader.doctor.assignment_report import AssignmentReport
    from grader.doctor.mutation.run import MutationReport, ProgressCallback

_MOST_IN_ANSWERS = 20  # edits that survive in accepted answers only: those of the reference come first


@contextmanager
def class_progress(go_on: str) -> Iterator[Progress]:
    """A callback that shows the progress of a run on a terminal, and nowhere else.

    Args:
        go_on: what to do after an interruption, once a notebook has been graded.
    """
    display = _Display() if sys.stderr.isatty() else None
    standing = Standing()

    def tell(now: Standing) -> None:
        nonlocal standing
        standing = now
        if display:
            display.update(now)

    again = "the same command begins again"
    interrupt.when_interrupted(lambda: f"stopped {standing}; {go_on if standing.total else again}.")
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

    def update(self, now: Standing) -> None:
        total = now.before + now.total
        if now.before and now.total and self._bars.tasks[0].total is None:
            self._bars.console.print(f"{now.before} of {total} were graded before.", highlight=False)
        completed = now.before + now.done
        self._bars.update(self._task, description=now.doing, completed=completed, total=total, standing=now)


class _Pace(ProgressColumn):
    """How fast it goes, how long it will take, and how many are in error."""

    _begun: tuple[float, int] | None = None  # when grading began, and what was done by then

    def render(self, task: Task) -> Text:
        now: Standing = task.fields.get("standing", Standing())
        if not now.total or now.doing == Standing.doing:
            return Text()
        self._begun = self._begun or (time.monotonic(), now.done)
        begun, done = self._begun
        text = Text(pace(now.done - done, now.total - now.done, time.monotonic() - begun))
        return text.append(f"  {now.errors} in error", "red") if now.errors else text


@contextmanager
def mutant_progress(console: Console) -> Iterator[ProgressCallback]:
    """A callback that shows the number of mutants, then how fast they are tried."""
    with console.status("making mutants") as status:
        begun = 0.0

        def tell(stem: str, done: int, total: int) -> None:
            nonlocal begun
            if not done:
                begun = time.monotonic()
                console.print(f"{stem}: {total} mutants", markup=False, highlight=False)
            how_fast = pace(done, total - done, time.monotonic() - begun)
            status.update(escape(f"{stem}: {done} of {total} looks at mutants {how_fast}"))

        yield tell


def print_examination(console: Console, found: AssignmentReport, *, verbose: bool) -> None:
    """What the doctor says about one assignment."""
    right, wrong = found.answers
    summary = (
        f": {len(found.kills)} checks, {right} accepted and {wrong} wrong answers" if found.kills else ""
    )
    console.print(f"[bold]{escape(found.stem)}[/]{summary}", highlight=False)
    if verbose and found.diagnoses:
        for matrix in kill_matrices(found.diagnoses, list(found.kills)):
            console.print(f"\n{matrix}", markup=False, highlight=False, soft_wrap=True)
        console.print("", _table_of_what_is_told(found), "")
        _print_passed_in_public(console, found)
    for complaint in found.complaints:
        console.print(f"  ✗ {complaint}", markup=False, highlight=False, soft_wrap=True)
    if found.accepted:
        told = f"  wrote what becomes of {len(found.accepted)} answers: {', '.join(found.accepted)}"
        console.print(told, markup=False, highlight=False, soft_wrap=True)
    if found.blanks:
        more = f", and {len(found.blanks) - 1} more" if len(found.blanks) > 1 else ""
        told = f"  What has a blank was left out: {found.blanks[0]}{more}"
        console.print(told, markup=False, highlight=False, soft_wrap=True)


def _table_of_what_is_told(found: AssignmentReport) -> Table:
    """Each message to each wrong answer, with the numbers of its checks in the kill matrix."""
    table = Table("", "wrong answer", "check", "is told", box=None)
    named = None
    for told in answer_messages(found.diagnoses, list(found.kills)):
        is_more = named == (told.question, told.name)
        named = told.question, told.name
        table.add_row(*(("", "") if is_more else named), told.columns, escape(told.message))
    return table


def _print_passed_in_public(console: Console, found: AssignmentReport) -> None:
    by_question: dict[str, list[str]] = {}
    for question, name in found.public:
        by_question.setdefault(question, []).append(name)
    for question, names in by_question.items():
        told = f"The public check of {question} passes {len(names)} wrong: {', '.join(names)}."
        console.print(f"{told}\n", markup=False, highlight=False, soft_wrap=True)


def print_mutation(console: Console, found: MutationReport, *, verbose: bool) -> None:
    """What the doctor says about the mutants of one assignment; all survivors where ``verbose``."""
    counts = f"{found.mutants} mutants, {found.killed} killed, {found.equal} equal by hand"
    implied = f" ({found.implied} more cut only a part of what one of these cuts)" if found.implied else ""
    told = f"{counts}, {len(found.survivors)} survive{implied}"
    console.print(f"[bold]{escape(found.stem)}[/]: {told}", highlight=False, soft_wrap=True)
    for line in survivor_lines(found.survivors, most=None if verbose else _MOST_IN_ANSWERS):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for complaint in found.complaints:
        console.print(f"  ✗ {complaint}", markup=False, highlight=False, soft_wrap=True)
