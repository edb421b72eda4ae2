"""On a student's machine: says what a check found, and always what to do next."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.course.assignment import END_TASK
from grader.scores import format_points
from grader.student.check import NotebookStatus
from grader.student.find import argument_of
from grader.student.report import NotebookReport, QuestionReport, TestReport
from grader.text import inert, inert_line

_MARKS = {"passes": "✔", "fails": "✘", "untouched": "·", "missing": "✘", "unchecked": "-"}
_PLAIN_MARKS = {"passes": "+", "fails": "x", "untouched": ".", "missing": "x", "unchecked": "-"}
_STYLES = {"passes": "green", "fails": "red", "untouched": "dim", "missing": "red", "unchecked": "dim"}
_REMARKS = {"untouched": "not started yet", "missing": "not defined", "unchecked": "no public check"}
_OF_END_TASK = {
    "passes": "passes",
    "fails": "does not pass",
    "untouched": "is not started yet",
    "missing": "is not defined",
    "unchecked": "has no public check",
}
#: What those errors mean here, which do not come up where a student works.
_REASONS = {
    "FileNotFoundError": "Only the notebook is handed in, so nothing lies beside it here.",
    "ModuleNotFoundError": "It is not installed here or, if it is a file of yours, not handed in.",
    "EOFError": "Nobody is there to type while a notebook is checked.",
}
_COMMAND = "python -m grader"


def console(*, stderr: bool = False) -> Console:
    """Where a student reads; texts of others are never taken for markup."""
    return Console(emoji=False, markup=False, highlight=False, soft_wrap=True, stderr=stderr)


@contextmanager
def working(doing: str) -> Iterator[Callable[[str], None]]:
    """Says on a terminal, and nowhere else, what is being done; gives a function that changes the words."""
    to = console(stderr=True)
    if to.is_terminal:
        with to.status(doing, spinner="line") as shown:
            yield shown.update
    else:
        yield lambda _: None


def mark(to: Console, status: str) -> Text:
    """The sign of a status; one that an old Windows terminal has too where it must be."""
    sign = _MARKS[status]
    try:
        sign.encode(to.encoding)
    except (UnicodeEncodeError, LookupError):
        sign = _PLAIN_MARKS[status]
    return Text(sign, _STYLES[status])


def print_report(to: Console, report: NotebookReport) -> None:
    """The whole of a check: cells that failed, each question, then the next step."""
    to.print(Text(report.notebook.name, "bold"))
    for cell, _ in report.cells:
        _print_cell(to, cell, report)
    for question in report.questions:
        _print_question(to, question, report)
    to.print()
    for line in closing(report):
        to.print(line)


def closing(report: NotebookReport) -> Iterator[str]:
    """How it stands, and the next step."""
    whole = len(report.questions) == len(report.notebook.questions)
    if len(report.questions) > 1:
        yield _counted(report.questions)
    following = report.next_question
    argument = report.notebook.argument
    if following is not None:
        identity = following.question.id
        begin = "Start with" if following.status == "untouched" else "Next:"
        yield f"{begin} {identity}, {inert(following.question.title)}."
        yield f"Stuck? {_COMMAND} hint {argument} {identity}"
    elif report.cells:
        which = "All questions pass." if whole else f"{report.questions[0].question.id} passes."
        guilty = report.cell_name(report.cells[0][0])
        yield f"{which} But {guilty} fails: mend or delete it, because Jupyter stops there."
        if not whole:
            yield f"The other questions: {_COMMAND} check {argument}"
    elif not whole:
        yield f"Well done. The other questions: {_COMMAND} check {argument}"
    else:
        yield "Well done! Restart the kernel, run all cells once more, save, and hand the notebook in."


def _counted(questions: tuple[QuestionReport, ...]) -> str:
    """How many questions pass; an end task is none of them, and how it stands is said beside."""
    checked = [one for one in questions if one.question.id != END_TASK and one.status != "unchecked"]
    beside = [
        f" The end task {_OF_END_TASK[one.status]}." for one in questions if one.question.id == END_TASK
    ]
    return f"{sum(one.is_done for one in checked)} of {len(checked)} questions pass.{''.join(beside)}"


def _print_cell(to: Console, cell: int, report: NotebookReport) -> None:
    failure = dict(report.cells)[cell]
    here = failure.cell in {cell, None}
    where = report.cell_name(cell) + (f", line {failure.line}," if here and failure.line else "")
    to.print(Text(f"  ! {where} ", "yellow"), Text(inert_line(" ".join(failure.text.split()))), sep="")
    if failure.kind in _REASONS:
        to.print(Text(f"      {_REASONS[failure.kind]}"))
    if failure.code:
        elsewhere = "" if here else f" (code cell {failure.cell}, line {failure.line})"
        to.print(Text(f"      {inert_line(failure.code)}{elsewhere}", "dim"))


def _print_question(to: Console, found: QuestionReport, report: NotebookReport) -> None:
    remark = _REMARKS.get(found.status, "")
    title = f" {found.question.id}  {inert(found.question.title)}" + (f"  ({remark})" if remark else "")
    to.print(Text("  "), mark(to, found.status), Text(title), sep="")
    if found.status == "missing":
        for line in _about_missing(found, report):
            to.print(Text(f"      {line}"))
    if found.status == "fails":
        for case in found.tests:
            _print_test(to, case)
    afterword = found.question.check.afterword if found.question.check else None
    if found.status == "passes" and len(report.questions) == 1 and afterword:
        to.print(Text(f"      {inert(afterword)}"))


def _about_missing(found: QuestionReport, report: NotebookReport) -> Iterator[str]:
    """Why the name may not be there, and how it comes back."""
    name, identity = found.question.function, found.question.id
    cells = report.notebook.document.cells
    failed = dict(report.cells)
    guilty = [one.number for one in cells if one.number in failed and name in one.source]
    if guilty:
        yield f"{name} was not defined, because {report.cell_name(guilty[0])} failed: mend that first."
        return
    argument = report.notebook.argument
    yield f"No cell defines {name}. Name your function so, or get its cell back:"
    yield f"{_COMMAND} reset {argument} {identity}"


def _print_test(to: Console, case: TestReport) -> None:
    status = "passes" if case.failure is None else "fails"
    to.print(Text("      "), mark(to, status), Text(f" {inert(case.title)}"), sep="")
    for line in failure_lines(case):
        to.print(Text(f"        {line}"))


def failure_lines(case: TestReport) -> Iterator[str]:
    """What a failed test says, in lines fit for a terminal and a log; none where it passed."""
    failure = case.failure
    if failure is None:
        return
    lines = failure.text.splitlines() or ["it failed without a word"]
    if not failure.said:
        lines[0] = f"your code {lines[0]}"
    yield from map(inert_line, lines)
    if failure.cell is not None:
        yield inert_line(f"at code cell {failure.cell}, line {failure.line}: {failure.code}")


def points_of(questions: list[QuestionReport] | tuple[QuestionReport, ...]) -> str:
    """Points of the public checks, as in ``11 of 31``."""
    earned, worth = sum(one.points for one in questions), sum(one.question.points for one in questions)
    return f"{format_points(earned)} of {format_points(worth)}"


def print_table(
    to: Console, lines: Sequence[NotebookStatus], renamed: Sequence[tuple[Path, str]] = ()
) -> None:
    """A row for each notebook, then what the signs mean and where to go on.

    Args:
        to: where to say it.
        lines: the notebooks.
        renamed: those that are not called as the course calls them, each with its assignment.
    """
    table = Table("notebook", box=None, pad_edge=False, header_style="bold")
    table.add_column("points", justify="right")
    table.add_column("questions")
    for line in lines:
        name = Text(inert(line.path.name.removesuffix(".ipynb")))
        if line.report is None:
            table.add_row(name, "-", Text("cannot be checked, see below", "red"))
        else:
            table.add_row(name, points_of(line.report.questions), _signs(to, line.report))
    to.print(table)
    to.print()
    key = Text.assemble(mark(to, "passes"), " passes  ", mark(to, "fails"), " does not yet  ")
    to.print(key, mark(to, "untouched"), Text(" not started"), sep="")
    for line in lines:
        if line.report is None:
            to.print(Text(inert_line(line.problem), "red"))
    for path, stem in renamed:
        to.print(
            f"{inert_line(path.name)} is not in this table: it answers {inert_line(stem)} under a name of"
            f" its own. Have a look at it: python -m grader check {argument_of(path)}"
        )
    to.print(_next_step([line for line in lines if not _is_a_copy(line, lines)]))


def _signs(to: Console, report: NotebookReport) -> Text:
    return Text("  ").join(
        Text.assemble(one.question.id, " ", mark(to, one.status)) for one in report.questions
    )


def _is_a_copy(line: NotebookStatus, lines: Sequence[NotebookStatus]) -> bool:
    """Whether it is called after another one, as `01_x-Copy1` and `01_x (1)` are after `01_x`."""
    return any(re.match(rf"{re.escape(other.path.stem)}\W", line.path.stem) for other in lines)


def _next_step(lines: Sequence[NotebookStatus]) -> str:
    for line in lines:
        if line.report is None:
            return f"Next: mend {inert_line(line.path.name)}, as said above."
        following = line.report.next_question
        if following:
            argument = line.report.notebook.argument
            return f"Next: python -m grader check {argument} {following.question.id}"
    return "Everything passes. Well done! Hand your notebooks in."
