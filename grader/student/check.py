"""On a student's machine: runs a notebook and its public tests, whatever ends their process."""

from __future__ import annotations

import ast
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from grader.errors import BrokenRunError, GraderError
from grader.student.notebook import Exercise, Task, open_exercise
from grader.student.process import Child, Ended, Supply
from grader.student.report import CaseFinding, Findings, Standing, TaskFinding, Trouble

_GRACE = 2.0  # seconds for a cell to heed its own alarm, before its process is ended

Start = Callable[[], Child]


def check(exercise: Exercise, tasks: Sequence[Task], seconds: float, start: Start) -> Findings:
    """Run a notebook's cells and the public tests of some of its questions.

    Args:
        exercise: the notebook.
        tasks: the questions.
        seconds: how long a cell, or a test, may take.
        start: gives a fresh process; more than one where a cell or a test ends its own.

    Raises:
        GraderError: this Python cannot run notebooks of the course.
    """
    log = Log(seconds)
    while (asked := log.request(exercise, tasks)) is not None:
        child = start()
        try:
            for event in child.run(asked, seconds + _GRACE):
                log.note(event)
            break
        except Ended as ended:
            log.note_end(ended, exercise)
        finally:
            child.end()
    troubles = tuple(sorted(log.cells.items()))
    return Findings(exercise, troubles, tuple(log.finding(task) for task in tasks))


_MOST_DEADLY_CELLS = 3  # as in grading: after them only what stands above counts


@dataclass
class Log:
    """What was said, over one process or several.

    Attributes:
        seconds: how long a cell or a test may take.
        cells: what went wrong in cells, by number.
        deadly: the cells that ended a process; they are left out from then on.
        heads: of those that took too long, what stands above the statement that did; it still runs.
        tests: by question and place, how each test ended: None where it passed.
        standings: of questions, as the runner sees them.
        took: how long the tests of a question took, in seconds.
    """

    seconds: float
    cells: dict[int, Trouble] = field(default_factory=dict)
    deadly: list[int] = field(default_factory=list)
    heads: dict[int, str] = field(default_factory=dict)
    tests: dict[str, dict[int, Trouble | None]] = field(default_factory=dict)
    standings: dict[str, str] = field(default_factory=dict)
    took: dict[str, float] = field(default_factory=dict)
    _running: dict[str, Any] = field(default_factory=dict)
    _begun: float = 0.0

    def request(self, exercise: Exercise, tasks: Sequence[Task]) -> dict[str, Any] | None:
        """What to ask of the next process; None where nothing is left to ask."""
        left = [task for task in tasks if task.id not in self.standings]
        if self.standings and not left:
            return None
        cells = [
            [cell.number, self.heads.get(cell.number, cell.source)]
            for cell in exercise.document.notebook.cells
            if (cell.number not in self.deadly or cell.number in self.heads) and cell.number < self._end()
        ]
        return {
            "handed_out": exercise.demonstrations,
            "cells": cells,
            "seconds": self.seconds,
            "tasks": [_asked(task, exercise) for task in left],
        }

    def _end(self) -> float:
        """The first cell that is not run any more; the very first where leaving out some did not help."""
        if len(self.deadly) < _MOST_DEADLY_CELLS:
            return math.inf
        return min(self.deadly[_MOST_DEADLY_CELLS - 1 :]) if len(self.deadly) < 2 * _MOST_DEADLY_CELLS else 0

    def note(self, event: dict[str, Any]) -> None:
        """Remember an event, see ``runner.py``."""
        match event:
            case {"cell": int(number), "trouble": dict() as told}:
                self.cells[number] = self._told(told)
            case {"task": str(task), "case": int(place), "trouble": told}:
                self.tests[task][place] = None if told is None else self._told(told)
                self._take_time(task)
            case {"task": str(task), "status": str(status)}:
                self.standings[task] = status
                self.tests[task] = {}
            case _:
                self._running, self._begun = event, time.monotonic()

    def note_end(self, ended: Ended, exercise: Exercise) -> None:
        """Blame what ran when the process ended."""
        text = f"took longer than {self.seconds:g} s" if ended.is_late else str(ended)
        match self._running:
            case {"task": str(task), "case": int(place)}:
                self._take_time(task)
                self.tests[task][place] = _at(Trouble(text), ended.place, exercise)
            case {"cell": int(number)} if number not in self.deadly:
                self.deadly.append(number)
                self._leave_out(number, text, ended, exercise)
            case {"cell": int(number)} if self.heads.pop(number, None) is not None:
                self.cells[number] = Trouble(f"{text}, so it was left out", number)
            case _:
                raise BrokenRunError(f"the Python that ran your notebook {ended}: run this again.")

    def _leave_out(self, number: int, text: str, ended: Ended, exercise: Exercise) -> None:
        """Leave out a cell from the statement on that took too long, as far as that is known."""
        source = exercise.document.notebook.cells[number - 1].source
        head = _head(source, ended.entry[1]) if ended.entry and ended.entry[0] == number else None
        if head:
            self.heads[number] = head
        ending = "so it was left out" if head is None else "and was stopped"
        self.cells[number] = _at(Trouble(f"{text}, {ending}", number), ended.place, exercise)

    def finding(self, task: Task) -> TaskFinding:
        """What is known of a question in the end."""
        status = self.standings.get(task.id, "missing")
        if status != "answered":
            return TaskFinding(task, "untouched" if status == "untouched" else "missing")
        if task.test is None:
            return TaskFinding(task, "unchecked")
        cases = tuple(self._cases(task))
        passes = len(cases) == len(task.test.cases) and not any(case.trouble for case in cases)
        standing: Standing = "passes" if passes else "fails"
        return TaskFinding(task, standing, cases, self.took.get(task.id, 0.0))

    def _cases(self, task: Task) -> Iterator[CaseFinding]:
        """The tests that were run; the one that ended its process is the last."""
        found = self.tests.get(task.id, {})
        for place, case in enumerate(task.test.cases if task.test else ()):
            if place in found:
                yield CaseFinding(case.title, found[place])

    def _take_time(self, task: str) -> None:
        self.took[task] = self.took.get(task, 0.0) + time.monotonic() - self._begun

    def _told(self, told: dict[str, Any]) -> Trouble:
        trouble = Trouble.told(told)
        late = f"took longer than {self.seconds:g} s, and was stopped"
        return replace(trouble, text=late) if told.get("late") is True else trouble


def _asked(task: Task, exercise: Exercise) -> dict[str, Any]:
    """A question as the runner is told of it; a cell of the notebook itself says nothing about the stub."""
    return {
        "id": task.id,
        "function": task.function,
        "stub": task.stub.source if task.stub and exercise.handed_out else "",
        "source": task.test.source if task.test else "",
    }


def _head(source: str, line: int) -> str | None:
    """What stands above the statement of a cell that a line belongs to; None where that cannot be said."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    ends = [node.end_lineno or 0 for node in body if (node.end_lineno or 0) < line]
    return "\n".join(source.split("\n")[: max(ends, default=0)])


def _at(trouble: Trouble, place: tuple[int, int] | None, exercise: Exercise) -> Trouble:
    """The same trouble, at a line of a cell where one is known."""
    cells = exercise.document.notebook.cells
    if place is None or not 0 < place[0] <= len(cells):
        return trouble
    number, line = place
    lines = cells[number - 1].source.splitlines()
    return replace(trouble, cell=number, line=line, code="".join(lines[line - 1 : line]).strip())


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
