"""What a terminal shows of the doctor: complaints, kill matrices, mutants that survive, and its progress.

A kill matrix shows the wrong answers that each check fails. A row without a cross is a wrong answer that no
check finds. A column whose crosses never stand alone in their rows is a check that is not needed. ``!`` is a
check that failed without judging, because the answer stopped before; it does not justify the check.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from grader.doctor.complaints import AnswerReport, AssignmentReport
from grader.doctor.known_answers import REFERENCE
from grader.doctor.mutation.run import MutantProgress, MutationReport
from grader.doctor.mutation.survivors import Survivor
from grader.reports.progress import pace

_MAX_IN_ANSWERS = 20  # edits that survive in accepted answers only
_REMOVED = "- "  # before a line that an edit removes


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
    if report.todos:
        more = f", and {len(report.todos) - 1} more" if len(report.todos) > 1 else ""
        _print(console, f"  What says TODO was left out: {report.todos[0]}{more}")


def _print(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _message_table(report: AssignmentReport) -> Table:
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


def kill_matrices(diagnoses: Sequence[AnswerReport], checks: Sequence[str]) -> Iterator[str]:
    """A matrix for each question: rows are wrong answers, columns the checks that fail any of them.

    Rows and columns are in the order of the arguments. Below the rows stand the names of the checks.
    """
    for question, wrong in _by_question(diagnoses).items():
        yield "\n".join(_matrix(question, wrong, _columns(wrong, checks)))


def _matrix(question: str, wrong: Sequence[AnswerReport], columns: Sequence[str]) -> Iterator[str]:
    width, margin = len(str(len(columns))), max(len(question), len("failed"))

    def row(head: str, cells: Iterator[object], end: str = "") -> str:
        return " ".join([f"{head:<{margin}}", *(f"{cell:>{width}}" for cell in cells)]) + end

    yield row(question, iter(range(1, len(columns) + 1)))
    for answer in wrong:
        yield row("", map(answer.mark, columns), f"  {answer.name}")
    kills = (sum(answer.mark(check) == "✗" for answer in wrong) for check in columns)
    yield row("failed", kills, f"  of {len(wrong)}")
    for number, check in enumerate(columns, start=1):
        yield f"{number:>{margin}} {check}"


class AnswerMessage(NamedTuple):
    """A message that a wrong answer gets, and the matrix's columns of the checks that give it: ``1, 3``."""

    question: str
    name: str
    columns: str
    message: str


def answer_messages(diagnoses: Sequence[AnswerReport], checks: Sequence[str]) -> Iterator[AnswerMessage]:
    """Each message that a wrong answer gets, once; students read those of all checks that failed."""
    for question, wrong in _by_question(diagnoses).items():
        columns = _columns(wrong, checks)
        for answer in wrong:
            messages: dict[str, list[str]] = {} if answer.failed else {"": []}
            for number, check in enumerate(columns, start=1):
                if check in answer.failed:
                    messages.setdefault(answer.failed[check], []).append(str(number))
            for message, numbers in messages.items():
                yield AnswerMessage(question, answer.name, ", ".join(numbers), message)


def _by_question(diagnoses: Sequence[AnswerReport]) -> dict[str, list[AnswerReport]]:
    groups: dict[str, list[AnswerReport]] = {}
    for diagnosis in diagnoses:
        groups.setdefault(diagnosis.question, []).append(diagnosis)
    return groups


def _columns(wrong: Sequence[AnswerReport], checks: Sequence[str]) -> list[str]:
    return [check for check in checks if any(check in answer.failed for answer in wrong)]


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


def survivor_lines(survivors: Sequence[Survivor], most: int | None) -> Iterator[str]:
    """Each edit once, with the answers it survives in; those of the reference first.

    Edits of the same lines stand together. At most `most` edits are shown that survive in accepted answers
    only; None shows all.
    """
    by_edit: dict[tuple[str, str], list[Survivor]] = {}
    for survivor in survivors:
        by_edit.setdefault((survivor.origin.question, survivor.mutant.edit), []).append(survivor)
    others = [same for same in by_edit.values() if all(s.origin.name != REFERENCE for s in same)]
    reference = [same for same in by_edit.values() if same not in others]
    kept = len(others) if most is None else most
    yield from _by_lines([*reference, *others[:kept]])
    if others[kept:]:
        left = Counter(same[0].origin.name for same in others[kept:])
        named = ", ".join(f"{number} in {name}" for name, number in left.items())
        yield f"  and {left.total()} more: {named}; --mutants NAME shows those of an answer, -v all"


def _by_lines(edits: Sequence[list[Survivor]]) -> Iterator[str]:
    """The edits in groups, each below its question, its answer and the lines that it changes there."""
    groups: dict[tuple[str, ...], list[list[Survivor]]] = {}
    for same in edits:
        first = same[0]
        removed = [line for line in first.mutant.change if line.startswith(_REMOVED)]
        head = f"  {first.origin.question}, in {first.origin}"
        groups.setdefault((head, *(f"      {line}" for line in removed)), []).append(same)
    last = ""
    for (head, *removed), group in groups.items():
        yield from (removed if head == last else [head, *removed])
        last = head
        for same in group:
            yield from _lines_of_edit(same)


def _lines_of_edit(same: Sequence[Survivor]) -> Iterator[str]:
    """An edit, the lines it adds, the seeds that find it, and the other answers it survives in."""
    first, *more = same
    yield f"    ✗ {first.mutant.edit}"
    yield from (f"      {line}" for line in first.mutant.change if not line.startswith(_REMOVED))
    if first.killed_by:
        yield f"      {first.luck}"
    if more:
        others = ("another line" if other.origin == first.origin else str(other) for other in more)
        yield f"      also in {', '.join(dict.fromkeys(others))}"
