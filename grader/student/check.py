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
from grader.student.notebook import Question, StudentNotebook, open_notebook
from grader.student.process import RunnerEnded, RunnerPool, RunnerProcess
from grader.student.report import Failure, NotebookReport, QuestionReport, TestReport

_GRACE = 2.0  # seconds for a cell to heed its own alarm, before its process is ended

Start = Callable[[], RunnerProcess]


def check(
    notebook: StudentNotebook, questions: Sequence[Question], seconds: float, start: Start
) -> NotebookReport:
    """Run a notebook's cells and the public tests of some of its questions.

    Args:
        notebook: the notebook.
        questions: the questions.
        seconds: how long a cell, or a test, may take.
        start: gives a fresh process; more than one where a cell or a test ends its own.

    Raises:
        GraderError: this Python cannot run notebooks of the course.
    """
    log = RunLog(seconds)
    while (asked := log.request(notebook, questions)) is not None:
        child = start()
        try:
            for event in child.run(asked, seconds + _GRACE):
                log.note(event)
            break
        except RunnerEnded as ended:
            log.note_end(ended, notebook)
        finally:
            child.end()
    failures = tuple(sorted(log.cells.items()))
    return NotebookReport(notebook, failures, tuple(log.report(question) for question in questions))


_MOST_DEADLY_CELLS = 3  # as in grading: after them only what stands above counts


@dataclass
class RunLog:
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
    cells: dict[int, Failure] = field(default_factory=dict)
    deadly: list[int] = field(default_factory=list)
    heads: dict[int, str] = field(default_factory=dict)
    tests: dict[str, dict[int, Failure | None]] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    took: dict[str, float] = field(default_factory=dict)
    _running: dict[str, Any] = field(default_factory=dict)
    _begun: float = 0.0

    def request(self, notebook: StudentNotebook, questions: Sequence[Question]) -> dict[str, Any] | None:
        """What to ask of the next process; None where nothing is left to ask."""
        left = [question for question in questions if question.id not in self.statuses]
        if self.statuses and not left:
            return None
        cells = [
            [cell.number, self.heads.get(cell.number, cell.source)]
            for cell in notebook.document.notebook.cells
            if (cell.number not in self.deadly or cell.number in self.heads) and cell.number < self._end()
        ]
        return {
            "handed_out": notebook.demonstrations,
            "cells": cells,
            "seconds": self.seconds,
            "tasks": [_asked(question, notebook) for question in left],
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
            case {"task": str(question), "case": int(place), "trouble": told}:
                self.tests[question][place] = None if told is None else self._told(told)
                self._take_time(question)
            case {"task": str(question), "status": str(status)}:
                self.statuses[question] = status
                self.tests[question] = {}
            case _:
                self._running, self._begun = event, time.monotonic()

    def note_end(self, ended: RunnerEnded, notebook: StudentNotebook) -> None:
        """Blame what ran when the process ended."""
        text = f"took longer than {self.seconds:g} s" if ended.is_late else str(ended)
        match self._running:
            case {"task": str(question), "case": int(place)}:
                self._take_time(question)
                self.tests[question][place] = _at(Failure(text), ended.place, notebook)
            case {"cell": int(number)} if number not in self.deadly:
                self.deadly.append(number)
                self._leave_out(number, text, ended, notebook)
            case {"cell": int(number)} if self.heads.pop(number, None) is not None:
                self.cells[number] = Failure(f"{text}, so it was left out", number)
            case _:
                raise BrokenRunError(f"the Python that ran your notebook {ended}: run this again.")

    def _leave_out(self, number: int, text: str, ended: RunnerEnded, notebook: StudentNotebook) -> None:
        """Leave out a cell from the statement on that took too long, as far as that is known."""
        source = notebook.document.notebook.cells[number - 1].source
        head = _head(source, ended.entry[1]) if ended.entry and ended.entry[0] == number else None
        if head:
            self.heads[number] = head
        ending = "so it was left out" if head is None else "and was stopped"
        self.cells[number] = _at(Failure(f"{text}, {ending}", number), ended.place, notebook)

    def report(self, question: Question) -> QuestionReport:
        """What is known of a question in the end."""
        status = self.statuses.get(question.id, "missing")
        if status != "answered":
            return QuestionReport(question, "untouched" if status == "untouched" else "missing")
        if question.check is None:
            return QuestionReport(question, "unchecked")
        tests = tuple(self._tests(question))
        passes = len(tests) == len(question.check.tests) and not any(test.failure for test in tests)
        return QuestionReport(
            question, "passes" if passes else "fails", tests, self.took.get(question.id, 0.0)
        )

    def _tests(self, question: Question) -> Iterator[TestReport]:
        """The tests that were run; the one that ended its process is the last."""
        found = self.tests.get(question.id, {})
        for place, case in enumerate(question.check.tests if question.check else ()):
            if place in found:
                yield TestReport(case.title, found[place])

    def _take_time(self, question: str) -> None:
        self.took[question] = self.took.get(question, 0.0) + time.monotonic() - self._begun

    def _told(self, told: dict[str, Any]) -> Failure:
        failure = Failure.told(told)
        late = f"took longer than {self.seconds:g} s, and was stopped"
        return replace(failure, text=late) if told.get("late") is True else failure


def _asked(question: Question, notebook: StudentNotebook) -> dict[str, Any]:
    """A question as the runner is told of it; a cell of the notebook itself says nothing about the stub."""
    return {
        "id": question.id,
        "function": question.function,
        "stub": question.stub.source if question.stub and notebook.handed_out else "",
        "source": question.check.source if question.check else "",
    }


def _head(source: str, line: int) -> str | None:
    """What stands above the statement of a cell that a line belongs to; None where that cannot be said."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    ends = [node.end_lineno or 0 for node in body if (node.end_lineno or 0) < line]
    return "\n".join(source.split("\n")[: max(ends, default=0)])


def _at(failure: Failure, place: tuple[int, int] | None, notebook: StudentNotebook) -> Failure:
    """The same trouble, at a line of a cell where one is known."""
    cells = notebook.document.notebook.cells
    if place is None or not 0 < place[0] <= len(cells):
        return failure
    number, line = place
    lines = cells[number - 1].source.splitlines()
    return replace(failure, cell=number, line=line, code="".join(lines[line - 1 : line]).strip())


@dataclass(frozen=True)
class NotebookStatus:
    """One notebook: what was found, or why nothing was."""

    path: Path
    report: NotebookReport | None
    problem: str = ""


def check_all(
    paths: Sequence[Path], seconds: float, supply: RunnerPool, about_to: Callable[[int, Path], None]
) -> Iterator[NotebookStatus]:
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
            notebook = open_notebook(path)
            start = partial(_start, supply, is_last=place + 1 == len(paths))
            report = check(notebook, notebook.questions, seconds, start)
        except GraderError as error:
            yield NotebookStatus(path, None, str(error))
        else:
            yield NotebookStatus(path, report)


def _start(supply: RunnerPool, *, is_last: bool) -> RunnerProcess:
    """A process for this notebook; the one for the next imports torch meanwhile."""
    child = supply.take()
    if not is_last:
        supply.prepare()
    return child
