"""`check`: runs a student's notebook and its public tests, whatever ends their process."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from grader.errors import BrokenRunError, GraderError
from grader.student.notebook import Question, StudentNotebook, open_notebook
from grader.student.process import Position, RunnerEnded, RunnerPool, RunnerProcess
from grader.student.report import Failure, NotebookReport, QuestionReport, TestReport

_GRACE = 2.0  # seconds for a cell to heed its own alarm, before its process is ended
_MOST_DEADLY_CELLS = 3  # as in grading: after them only what stands above counts


def check(
    notebook: StudentNotebook,
    questions: Sequence[Question],
    seconds: float,
    start: Callable[[], RunnerProcess],
) -> NotebookReport:
    """Run a notebook's cells and the public tests of some of its questions.

    A cell, or a test, may take so many seconds. `start` gives a fresh process; it is called again when a cell
    or a test ends the process.

    Raises:
        GraderError: this Python cannot run notebooks of the course.
    """
    log = RunLog(notebook, seconds)
    while (request := log.request(questions)) is not None:
        process = start()
        try:
            for event in process.run(request, seconds + _GRACE):
                log.note(event)
            break
        except RunnerEnded as ended:
            log.note_end(ended)
        finally:
            process.end()
    return NotebookReport(notebook, tuple(sorted(log.cells.items())), tuple(map(log.report, questions)))


@dataclass
class RunLog:
    """What one process or several said about a notebook; tests and seconds are by question."""

    notebook: StudentNotebook
    limit: float  # how long a cell or a test may take, in seconds
    cells: dict[int, Failure] = field(default_factory=dict)  # what went wrong in cells, by number
    deadly: list[int] = field(default_factory=list)  # cells that ended a process, which are left out then
    statuses: dict[str, str] = field(default_factory=dict)  # of questions, as the runner sees them
    tests: dict[str, list[Failure | None]] = field(default_factory=lambda: defaultdict(list))  # None: passed
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _running: dict[str, Any] = field(default_factory=dict)
    _begun: float = 0.0

    def request(self, questions: Sequence[Question]) -> dict[str, Any] | None:
        """What to ask of the next process; None where nothing is left to ask."""
        left = [question for question in questions if question.id not in self.statuses]
        if self.statuses and not left:
            return None
        return {
            "handed_out": self.notebook.demonstrations,
            "cells": [
                [cell.number, cell.source]
                for cell in self.notebook.code
                if cell.number not in self.deadly and cell.number < self._end()
            ],
            "seconds": self.limit,
            "questions": [self._asked(question) for question in left],
        }

    def _end(self) -> float:
        """The first cell that is not run any more; none is run where that did not help either."""
        if len(self.deadly) < _MOST_DEADLY_CELLS:
            return math.inf
        return self.deadly[-1] if len(self.deadly) == _MOST_DEADLY_CELLS else 0

    def _asked(self, question: Question) -> dict[str, Any]:
        """A question for the runner; only what was handed out says how its stub looked."""
        return {
            "id": question.id,
            "function": question.function,
            "stub": question.stub.source if question.stub and self.notebook.handed_out else "",
            "source": question.check.source if question.check else "",
        }

    def note(self, event: dict[str, Any]) -> None:
        """Remember an event, see ``runner.py``."""
        match event:
            case {"cell": int(number), "failure": dict() as failure}:
                self.cells[number] = self._read(failure)
            case {"question": str(question), "test": int(), "failure": failure}:
                self._end_test(question, self._read(failure) if failure else None)
            case {"question": str(question), "status": str(status)}:
                self.statuses[question] = status
            case _:
                self._running, self._begun = event, time.monotonic()

    def note_end(self, ended: RunnerEnded) -> None:
        """Blame what ran when the process ended."""
        text = f"took longer than {self.limit:g} s" if ended.is_late else str(ended)
        match self._running:
            case {"question": str(question), "test": int()}:
                self._end_test(question, self._at(Failure(text), ended.position))
            case {"cell": int(number)} if number not in self.deadly:
                self.deadly.append(number)
                failure = Failure(f"{text}, so it was left out", number)
                self.cells[number] = self._at(failure, ended.position)
            case _:
                raise BrokenRunError(f"the Python that ran your notebook {ended}: run this again.")

    def _end_test(self, question: str, failure: Failure | None) -> None:
        self.tests[question].append(failure)
        self.seconds[question] += time.monotonic() - self._begun

    def _read(self, event: dict[str, Any]) -> Failure:
        failure = Failure.from_event(event)
        late = f"took longer than {self.limit:g} s, and was stopped"
        return replace(failure, text=late) if event.get("late") is True else failure

    def _at(self, failure: Failure, position: Position | None) -> Failure:
        """The same failure, at a line of a cell where that is known."""
        cells = self.notebook.code
        if position is None or not 0 < position[0] <= len(cells):
            return failure
        number, line = position
        lines = cells[number - 1].source.splitlines()
        return replace(failure, cell=number, line=line, code="".join(lines[line - 1 : line]).strip())

    def report(self, question: Question) -> QuestionReport:
        """What is known of a question in the end; a test that ended the process is its last."""
        status = self.statuses.get(question.id, "missing")
        if status != "answered":
            return QuestionReport(question, "untouched" if status == "untouched" else "missing")
        if question.check is None:
            return QuestionReport(question, "unchecked")
        run = self.tests[question.id]
        tests = tuple(
            TestReport(test.title, failure) for test, failure in zip(question.check.tests, run, strict=False)
        )
        passes = len(tests) == len(question.check.tests) and not any(run)
        return QuestionReport(question, "passes" if passes else "fails", tests, self.seconds[question.id])


@dataclass(frozen=True)
class NotebookStatus:
    """One notebook of a folder: its report, or why there is none."""

    path: Path
    report: NotebookReport | None
    problem: str = ""


def check_all(
    paths: Sequence[Path], seconds: float, pool: RunnerPool, about_to: Callable[[int, Path], None]
) -> Iterator[NotebookStatus]:
    """Check all notebooks, one after the other; what cannot be read costs only itself.

    `about_to` is called before each notebook with its number, counted from 1, and its path.
    """
    for number, path in enumerate(paths, 1):
        about_to(number, path)
        try:
            notebook = open_notebook(path)
            start = partial(_start, pool, is_last=number == len(paths))
            report = check(notebook, notebook.questions, seconds, start)
        except GraderError as error:
            yield NotebookStatus(path, None, str(error))
        else:
            yield NotebookStatus(path, report)


def _start(pool: RunnerPool, *, is_last: bool) -> RunnerProcess:
    """A process for this notebook; the next notebook's imports torch meanwhile."""
    process = pool.take()
    if not is_last:
        pool.prepare()
    return process
