"""The doctor's output on a terminal: complaints, kill matrices, mutants that survive, and its progress.

A kill matrix shows the known-wrong answers that each check fails. A row without a cross is one that no check
finds. A column whose crosses never stand alone in their rows is a check that is not needed. ``!`` is a
check that failed without judging, because the answer stopped before; it does not justify the check.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from grader.doctor.mutation_testing import MutantProgress, MutationReport, Survivor
from grader.doctor.review import AnswerReport, AssignmentReport, redundant_answers
from grader.reports.progress import progress_bar
from grader.text import counted

_REMOVED = "- "  # before a line that an edit removes


def print_examination(console: Console, report: AssignmentReport, *, verbose: bool) -> None:
    """Print the doctor's findings about an assignment."""
    answers = f"{report.accepted} known-correct and {counted(len(report.wrong), 'known-wrong answer')}"
    counts = f": {counted(len(report.kills), 'check')}, {answers}"
    console.print(f"[bold]{escape(report.stem)}[/]{counts if report.kills else ''}", highlight=False)
    if verbose and report.wrong:
        _print_answers(console, report)
    for question, levels in report.idle_levels.items() if verbose else ():
        _print(console, f"No known-wrong answer to {question} needs these levels: {', '.join(levels)}.\n")
    for complaint in report.complaints:
        _print(console, f"  ✗ {complaint}")
    if report.written:
        names = ", ".join(report.written)
        outcomes = "outcome" if len(report.written) == 1 else "outcomes"
        _print(console, f"  recorded the {outcomes} of {counted(len(report.written), 'answer')}: {names}")
    if report.todos:
        more = f", and {len(report.todos) - 1} more" if len(report.todos) > 1 else ""
        _print(console, f"  ignored, because it says TODO: {report.todos[0]}{more}")


def _print_answers(console: Console, report: AssignmentReport) -> None:
    """Print the kill matrices of an assignment, the messages, and the answers that deserve a look."""
    checks = list(report.kills)
    for matrix in kill_matrices(report.wrong, checks):
        _print(console, f"\n{matrix}")
    table, last = Table("", "known-wrong answer", "check", "message", box=None), ("", "")
    for question, name, columns, message in answer_messages(report.wrong, checks):
        heads = ("", "") if (question, name) == last else (question, name)
        table.add_row(*heads, columns, escape(message))
        last = question, name
    console.print("", table, "")
    for question, wrong in _by_question(report.wrong).items():
        passing = [answer.name for answer in wrong if answer.public]
        if passing:
            names = ", ".join(passing)
            _print(console, f"The public check of {question} passes known-wrong answers: {names}.\n")
        if redundant := redundant_answers(wrong):
            names = ", ".join(redundant)
            _print(console, f"Redundant known-wrong answers to {question}: {names}.\n")


def _print(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def kill_matrices(answers: Sequence[AnswerReport], checks: Sequence[str]) -> Iterator[str]:
    """A matrix for each question: rows are known-wrong answers, columns the checks that fail any of them.

    Rows and columns are in the order of the arguments. The names of the checks follow the rows.
    """
    for question, wrong in _by_question(answers).items():
        columns = _columns(wrong, checks)
        width, margin = len(str(len(columns))), max(len(question), len("failed"))
        kills = [sum(answer.mark(check) == "✗" for answer in wrong) for check in columns]
        rows: list[tuple[str, Iterable[object], str]] = [
            (question, range(1, len(columns) + 1), ""),
            *(("", map(answer.mark, columns), f"  {answer.name}") for answer in wrong),
            ("failed", kills, f"  of {len(wrong)}"),
        ]
        lines = [
            " ".join([f"{head:<{margin}}", *(f"{cell:>{width}}" for cell in cells)]) + end
            for head, cells, end in rows
        ]
        lines += [f"{number:>{margin}} {check}" for number, check in enumerate(columns, start=1)]
        yield "\n".join(lines)


def answer_messages(
    answers: Sequence[AnswerReport], checks: Sequence[str]
) -> Iterator[tuple[str, str, str, str]]:
    """Each message for a known-wrong answer, once; students read those of all checks that failed.

    Each comes with the question, the answer's name and the matrix's columns of these checks, such as
    ``1, 3``.
    """
    for question, wrong in _by_question(answers).items():
        columns = _columns(wrong, checks)
        for answer in wrong:
            messages: dict[str, list[str]] = {} if answer.failed else {"": []}
            for number, check in enumerate(columns, start=1):
                if check in answer.failed:
                    messages.setdefault(answer.failed[check], []).append(str(number))
            for message, numbers in messages.items():
                yield question, answer.name, ", ".join(numbers), message


def _by_question(answers: Sequence[AnswerReport]) -> dict[str, list[AnswerReport]]:
    groups: dict[str, list[AnswerReport]] = {}
    for answer in answers:
        groups.setdefault(answer.question, []).append(answer)
    return groups


def _columns(wrong: Sequence[AnswerReport], checks: Sequence[str]) -> list[str]:
    return [check for check in checks if any(check in answer.failed for answer in wrong)]


@contextmanager
def mutant_progress(console: Console) -> Iterator[MutantProgress]:
    """A callback that shows the number of mutants, then how many of them have been tried."""
    with progress_bar(console) as bar:
        task = bar.add_task("making mutants", total=None, note="")

        def show(stem: str, done: int, total: int) -> None:
            if not done:
                console.print(f"{stem}: {counted(total, 'mutant')}", markup=False, highlight=False)
            bar.update(task, description=stem, completed=done, total=total)

        yield show


def print_mutation(console: Console, report: MutationReport) -> None:
    """Print the outcome of an assignment's mutants."""
    counts = f"{counted(report.mutants, 'mutant')}: {report.killed} killed, {report.equal} equivalent"
    implied = (
        f" (not counting {report.implied} smaller removals in the same places)" if report.implied else ""
    )
    summary = f"{counts}, {len(report.survivors)} survived{implied}"
    console.print(f"[bold]{escape(report.stem)}[/]: {summary}", highlight=False, soft_wrap=True)
    for line in survivor_lines(report.survivors):
        _print(console, line)
    for complaint in report.complaints:
        _print(console, f"  ✗ {complaint}")


def survivor_lines(survivors: Sequence[Survivor]) -> Iterator[str]:
    """Each edit with the lines it adds and the seeds that find it, below the lines it removes."""
    groups: dict[str, dict[tuple[str, ...], list[Survivor]]] = {}
    for survivor in survivors:
        removed = tuple(line for line in survivor.mutant.change if line.startswith(_REMOVED))
        groups.setdefault(survivor.question, {}).setdefault(removed, []).append(survivor)
    for question, of_question in groups.items():
        yield f"  {question}"
        for removed, same in of_question.items():
            yield from (f"      {line}" for line in removed)
            for survivor in same:
                yield f"    ✗ {survivor.mutant.edit}"
                added = (line for line in survivor.mutant.change if not line.startswith(_REMOVED))
                yield from (f"      {line}" for line in added)
                if survivor.killed_by:
                    yield f"      found by seeds {', '.join(map(str, survivor.killed_by))} only"
