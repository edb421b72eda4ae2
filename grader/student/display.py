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
from grader.student.check import Line
from grader.student.find import argument_of
from grader.student.report import CaseFinding, Findings, TaskFinding
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


def mark(to: Console, standing: str) -> Text:
    """The sign of a standing; one that an old Windows terminal has too where it must be."""
    sign = _MARKS[standing]
    try:
        sign.encode(to.encoding)
    except (UnicodeEncodeError, LookupError):
        sign = _PLAIN_MARKS[standing]
    return Text(sign, _STYLES[standing])


def tell(to: Console, findings: Findings) -> None:
    """The whole of a check: cells that failed, each question, then the next step."""
    to.print(Text(findings.exercise.name, "bold"))
    for cell, _ in findings.cells:
        _tell_cell(to, cell, findings)
    for task in findings.tasks:
        _tell_task(to, task, findings)
    to.print()
    for line in closing(findings):
        to.print(line)


def closing(findings: Findings) -> Iterator[str]:
    """How it stands, and the next step."""
    whole = len(findings.tasks) == len(findings.exercise.tasks)
    if len(findings.tasks) > 1:
        yield _counted(findings.tasks)
    following = findings.next_task
    argument = findings.exercise.argument
    if following is not None:
        identity = following.task.id
        begin = "Start with" if following.standing == "untouched" else "Next:"
        yield f"{begin} {identity}, {inert(following.task.title)}."
        yield f"Stuck? {_COMMAND} hint {argument} {identity}"
    elif findings.cells:
        which = "All questions pass." if whole else f"{findings.tasks[0].task.id} passes."
        guilty = findings.cell_name(findings.cells[0][0])
        yield f"{which} But {guilty} fails: mend or delete it, because Jupyter stops there."
        if not whole:
            yield f"The other questions: {_COMMAND} check {argument}"
    elif not whole:
        yield f"Well done. The other questions: {_COMMAND} check {argument}"
    else:
        yield "Well done! Restart the kernel, run all cells once more, save, and hand the notebook in."


def _counted(tasks: tuple[TaskFinding, ...]) -> str:
    """How many questions pass; an end task is none of them, and how it stands is said beside."""
    checked = [one for one in tasks if one.task.id != END_TASK and one.standing != "unchecked"]
    beside = [f" The end task {_OF_END_TASK[one.standing]}." for one in tasks if one.task.id == END_TASK]
    return f"{sum(one.is_done for one in checked)} of {len(checked)} questions pass.{''.join(beside)}"


def _tell_cell(to: Console, cell: int, findings: Findings) -> None:
    trouble = dict(findings.cells)[cell]
    here = trouble.cell in {cell, None}
    where = findings.cell_name(cell) + (f", line {trouble.line}," if here and trouble.line else "")
    to.print(Text(f"  ! {where} ", "yellow"), Text(inert_line(" ".join(trouble.text.split()))), sep="")
    for kind, reason in _REASONS.items():
        if trouble.text.startswith(f"stopped with {kind}"):
            to.print(Text(f"      {reason}"))
    if trouble.code:
        elsewhere = "" if here else f" (code cell {trouble.cell}, line {trouble.line})"
        to.print(Text(f"      {inert_line(trouble.code)}{elsewhere}", "dim"))


def _tell_task(to: Console, found: TaskFinding, findings: Findings) -> None:
    remark = _REMARKS.get(found.standing, "")
    title = f" {found.task.id}  {inert(found.task.title)}" + (f"  ({remark})" if remark else "")
    to.print(Text("  "), mark(to, found.standing), Text(title), sep="")
    if found.standing == "missing":
        for line in _about_missing(found, findings):
            to.print(Text(f"      {line}"))
    if found.standing == "fails":
        for case in found.cases:
            _tell_case(to, case)
    afterword = found.task.test.afterword if found.task.test else None
    if found.standing == "passes" and len(findings.tasks) == 1 and afterword:
        to.print(Text(f"      {inert(afterword)}"))


def _about_missing(found: TaskFinding, findings: Findings) -> Iterator[str]:
    """Why the name may not be there, and how it comes back."""
    name, identity = found.task.function, found.task.id
    cells = findings.exercise.document.cells
    failed = dict(findings.cells)
    guilty = [one.number for one in cells if one.number in failed and name in one.source]
    if guilty:
        yield f"{name} was not defined, because {findings.cell_name(guilty[0])} failed: mend that first."
        return
    argument = findings.exercise.argument
    yield f"No cell defines {name}. Name your function so, or get its cell back:"
    yield f"{_COMMAND} reset {argument} {identity}"


def _tell_case(to: Console, case: CaseFinding) -> None:
    standing = "passes" if case.trouble is None else "fails"
    to.print(Text("      "), mark(to, standing), Text(f" {inert(case.title)}"), sep="")
    for line in trouble_lines(case):
        to.print(Text(f"        {line}"))


def trouble_lines(case: CaseFinding) -> Iterator[str]:
    """What a failed test says, in lines fit for a terminal and a log; none where it passed."""
    trouble = case.trouble
    if trouble is None:
        return
    lines = trouble.text.splitlines() or ["it failed without a word"]
    if not trouble.said:
        lines[0] = f"your code {lines[0]}"
    yield from map(inert_line, lines)
    if trouble.cell is not None:
        yield inert_line(f"at code cell {trouble.cell}, line {trouble.line}: {trouble.code}")


def points_of(tasks: list[TaskFinding] | tuple[TaskFinding, ...]) -> str:
    """Points of the public checks, as in ``11 of 31``."""
    earned, worth = sum(one.points for one in tasks), sum(one.task.points for one in tasks)
    return f"{format_points(earned)} of {format_points(worth)}"


def tell_all(to: Console, lines: Sequence[Line], renamed: Sequence[tuple[Path, str]] = ()) -> None:
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
        if line.findings is None:
            table.add_row(name, "-", Text("cannot be checked, see below", "red"))
        else:
            table.add_row(name, points_of(line.findings.tasks), _signs(to, line.findings))
    to.print(table)
    to.print()
    key = Text.assemble(mark(to, "passes"), " passes  ", mark(to, "fails"), " does not yet  ")
    to.print(key, mark(to, "untouched"), Text(" not started"), sep="")
    for line in lines:
        if line.findings is None:
            to.print(Text(inert_line(line.problem), "red"))
    for path, stem in renamed:
        to.print(
            f"{inert_line(path.name)} is not in this table: it answers {inert_line(stem)} under a name of"
            f" its own. Have a look at it: python -m grader check {argument_of(path)}"
        )
    to.print(_next_step([line for line in lines if not _is_a_copy(line, lines)]))


def _signs(to: Console, findings: Findings) -> Text:
    return Text("  ").join(Text.assemble(one.task.id, " ", mark(to, one.standing)) for one in findings.tasks)


def _is_a_copy(line: Line, lines: Sequence[Line]) -> bool:
    """Whether it is called after another one, as `01_x-Copy1` and `01_x (1)` are after `01_x`."""
    return any(re.match(rf"{re.escape(other.path.stem)}\W", line.path.stem) for other in lines)


def _next_step(lines: Sequence[Line]) -> str:
    for line in lines:
        if line.findings is None:
            return f"Next: mend {inert_line(line.path.name)}, as said above."
        following = line.findings.next_task
        if following:
            argument = line.findings.exercise.argument
            return f"Next: python -m grader check {argument} {following.task.id}"
    return "Everything passes. Well done! Hand your notebooks in."
