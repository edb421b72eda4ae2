"""What a terminal shows of the doctor: its findings, and the progress of mutation testing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from grader.doctor.assignment_report import AssignmentReport, answer_messages, kill_matrices
from grader.doctor.mutation.run import MutantProgress, MutationReport
from grader.doctor.mutation.survivors import survivor_lines
from grader.grading.options import pace

_MAX_IN_ANSWERS = 20  # edits that survive in accepted answers only: those of the reference come first


def print_examination(console: Console, report: AssignmentReport, *, verbose: bool) -> None:
    """Print what the doctor found of an assignment."""
    right, wrong = report.answers
    counts = f": {len(report.kills)} checks, {right} accepted and {wrong} wrong answers"
    console.print(f"[bold]{escape(report.stem)}[/]{counts if report.kills else ''}", highlight=False)
    if verbose and report.diagnoses:
        for matrix in kill_matrices(report.diagnoses, list(report.kills)):
            _print(console, f"\n{matrix}")
        console.print("", _message_table(report), "")
        _print_passed_in_public(console, report)
    for complaint in report.complaints:
        _print(console, f"  ✗ {complaint}")
    if report.accepted:
        _print(
            console, f"  wrote what becomes of {len(report.accepted)} answers: {', '.join(report.accepted)}"
        )
    if report.blanks:
        more = f", and {len(report.blanks) - 1} more" if len(report.blanks) > 1 else ""
        _print(console, f"  What has a blank was left out: {report.blanks[0]}{more}")


def _print(console: Console, text: str) -> None:
    """Print text as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _message_table(report: AssignmentReport) -> Table:
    """Each message to each wrong answer, with the numbers of its checks in the kill matrix."""
    table = Table("", "wrong answer", "check", "is told", box=None)
    last = None
    for message in answer_messages(report.diagnoses, list(report.kills)):
        answer = message.question, message.name
        table.add_row(*(("", "") if answer == last else answer), message.columns, escape(message.message))
        last = answer
    return table


def _print_passed_in_public(console: Console, report: AssignmentReport) -> None:
    by_question: dict[str, list[str]] = {}
    for question, name in report.public:
        by_question.setdefault(question, []).append(name)
    for question, names in by_question.items():
        _print(console, f"The public check of {question} passes {len(names)} wrong: {', '.join(names)}.\n")


@contextmanager
def mutant_progress(console: Console) -> Iterator[MutantProgress]:
    """A callback that shows the number of mutants, then how fast they are tried."""
    with console.status("making mutants") as status:
        begun = 0.0

        def show(stem: str, done: int, total: int) -> None:
            nonlocal begun
            if not done:
                begun = time.monotonic()
                console.print(f"{stem}: {total} mutants", markup=False, highlight=False)
            speed = pace(done, total - done, time.monotonic() - begun)
            status.update(escape(f"{stem}: {done} of {total} looks at mutants {speed}"))

        yield show


def print_mutation(console: Console, report: MutationReport, *, verbose: bool) -> None:
    """Print the outcome of an assignment's mutants; with `verbose`, all survivors."""
    counts = f"{report.mutants} mutants, {report.killed} killed, {report.equal} equal by hand"
    implied = f" ({report.implied} more cut only a part of what one of these cuts)" if report.implied else ""
    summary = f"{counts}, {len(report.survivors)} survive{implied}"
    console.print(f"[bold]{escape(report.stem)}[/]: {summary}", highlight=False, soft_wrap=True)
    for line in survivor_lines(report.survivors, most=None if verbose else _MAX_IN_ANSWERS):
        _print(console, line)
    for complaint in report.complaints:
        _print(console, f"  ✗ {complaint}")
