"""On a student's machine: how all notebooks of a folder stand, in one table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.errors import GraderError
from grader.student.checking import check
from grader.student.child import Child
from grader.student.exercise import open_exercise
from grader.student.finding import Findings
from grader.student.naming import argument_of
from grader.student.supply import Supply
from grader.student.telling import mark, points_of
from grader.student.wording import shown
from grader.text import inert


@dataclass(frozen=True)
class Line:
    """One notebook: what was found, or why nothing was."""

    path: Path
    findings: Findings | None
    problem: str = ""


def look_at_all(
    paths: Sequence[Path], seconds: float, supply: Supply, about_to: Callable[[int, Path], None]
) -> Iterator[Line]:
    """Check one notebook after the other; one that cannot be read costs only itself.

    Args:
        paths: the notebooks.
        seconds: how long a cell, or a test, may take.
        supply: where processes come from.
        about_to: is told the place and the path of the notebook that is looked at next.
    """
    for place, path in enumerate(paths):
        about_to(place, path)
        try:
            exercise = open_exercise(path)
            start = partial(_start, supply, is_last=place + 1 == len(paths))
            findings = check(exercise, exercise.tasks, seconds, start)
        except GraderError as error:
            yield Line(path, None, str(error))
        else:
            yield Line(path, findings)


def _start(supply: Supply, *, is_last: bool) -> Child:
    """A process for this notebook; the one for the next imports torch meanwhile."""
    child = supply.take()
    if not is_last:
        supply.prepare()
    return child


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
            to.print(Text(shown(line.problem), "red"))
    for path, stem in renamed:
        to.print(
            f"{shown(path.name)} is not in this table: it answers {shown(stem)} under a name of its own."
            f" Have a look at it: python -m grader check {argument_of(path)}"
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
            return f"Next: mend {shown(line.path.name)}, as said above."
        following = line.findings.next_task
        if following:
            argument = line.findings.exercise.argument
            return f"Next: python -m grader check {argument} {following.task.id}"
    return "Everything passes. Well done! Hand your notebooks in."
