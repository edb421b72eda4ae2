"""`check`: runs a notebook and its public tests, even if they end their process, and reports the outcome."""

from __future__ import annotations

import contextlib
import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from grader.errors import BrokenRunError
from grader.notebooks.definitions import questions_checked
from grader.student.notebook import Question, StudentNotebook
from grader.student.process import RunnerProcess

Status = Literal["passes", "fails", "untouched", "missing", "unchecked"]

_LEFT: tuple[Status, ...] = ("fails", "untouched", "missing")
_MOST_DEADLY_CELLS = 3  # as in grading: after them only what stands above counts


@dataclass(frozen=True)
class Failure:
    """An error or failed test, and its place in the notebook."""

    text: str  # the message of a test, or of an error, as in "Your code ..."; in lines fit to be shown
    cell: int | None = None  # the number of the nearest code cell, from 1; Jupyter doesn't show it
    line: int = 0  # in that cell
    function: str = ""  # in which that line stands
    code: str = ""  # that line
    meaning: str = ""  # of the error: sentences, or a clause
    said: bool = False  # by a public test, not by Python
    kind: str = ""  # of the exception, where there was one


@dataclass(frozen=True)
class QuestionReport:
    """A question, and the public tests that ran.

    None runs if the status is ``missing`` (not defined) or ``unchecked``; if it is ``untouched`` (starter
    code), they run only on request.
    """

    question: Question
    status: Status
    tests: tuple[tuple[str, Failure | None], ...] = ()  # titles of tests, each with its failure or None
    seconds: float = 0.0  # that the tests took

    @property
    def points(self) -> float:
        """All of its points if everything passed, otherwise 0."""
        return self.question.points if self.status == "passes" else 0.0

    @property
    def is_done(self) -> bool:
        return self.status == "passes"


@dataclass(frozen=True)
class NotebookReport:
    """A notebook: the cells that failed, by number, and the questions that were checked."""

    notebook: StudentNotebook
    cells: tuple[tuple[int, Failure], ...]
    questions: tuple[QuestionReport, ...]

    def concerns(self, number: int, question: Question) -> bool:
        """Whether a failed cell may affect a question: it is the question's cell, or above it."""
        cell = self.notebook.cell_of(question)
        return cell is None or number <= cell.number

    def failed_cell(self, found: QuestionReport) -> int | None:
        """The failed cell because of which a question's function is not defined; None if there is none."""
        if found.status != "missing":
            return None
        failed = {number for number, _ in self.cells}
        own = self.notebook.cell_of(found.question)
        if own is not None and own.number in failed:
            return own.number
        naming = (cell.number for cell in self.notebook.code if found.question.function in cell.source)
        return next((number for number in naming if number in failed), None)

    @property
    def is_begun(self) -> bool:
        """Whether a question was answered, right or wrong."""
        return any(answer.status in {"passes", "fails", "unchecked"} for answer in self.questions)

    @property
    def next_question(self) -> QuestionReport | None:
        """The first question that fails, or otherwise the first that is not begun or not defined."""
        left = [answer for answer in self.questions if answer.status in _LEFT]
        return min(left, key=lambda answer: answer.status != "fails", default=None)

    def question_after(self, name: str) -> QuestionReport | None:
        """The next unfinished question, starting again after the last one; None if there is none."""
        place = [answer.question.id for answer in self.questions].index(name)
        others = [*self.questions[place + 1 :], *self.questions[:place]]
        return next((answer for answer in others if answer.status in _LEFT), None)


def check(  # noqa: PLR0913 - two of them by name only
    notebook: StudentNotebook,
    questions: Sequence[Question],
    seconds: float,
    start: Callable[[], RunnerProcess],
    *,
    in_full: bool = False,
    at_tick: Callable[[], None] = lambda: None,
) -> NotebookReport:
    """Run a notebook's cells and the public tests of some of its questions.

    `seconds` is the time limit of a cell, and of a test. `start` returns a new process, and is called again
    if cells or tests end theirs. With `in_full`, starter code is tested, too. `at_tick` is called many times
    a second; an error that it raises ends the check.

    Raises:
        GraderError: this Python cannot run notebooks of the course.
    """
    log = RunLog(notebook, seconds, in_full=in_full)
    while not log.is_done and (request := log.request(questions)):
        with contextlib.closing(start()) as process:
            for event in process.run(request, at_tick):
                log.note(event)
    return NotebookReport(notebook, tuple(sorted(log.cells.items())), tuple(map(log.report, questions)))


@dataclass
class RunLog:
    """The events of the processes that ran a notebook; tests and seconds are by question."""

    notebook: StudentNotebook
    limit: float  # how long a cell or a test may take, in seconds
    in_full: bool = False
    cells: dict[int, Failure] = field(default_factory=dict)  # failures of cells, by number
    deadly: list[int] = field(default_factory=list)  # cells that ended a process, and don't run any more
    statuses: dict[str, str] = field(default_factory=dict)  # of questions, as the runner sees them
    tests: dict[str, list[Failure | None]] = field(default_factory=lambda: defaultdict(list))  # None: passed
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    is_done: bool = False  # whether a process has come to its end
    _running: dict[str, Any] = field(default_factory=dict)
    _begun: float = 0.0

    def request(self, questions: Sequence[Question]) -> dict[str, Any] | None:
        """The request to the next process; None if nothing is left to do."""
        left = [question for question in questions if question.id not in self.statuses]
        if self.statuses and not left:
            return None
        end = math.inf  # the first cell that is not run any more
        if len(self.deadly) >= _MOST_DEADLY_CELLS:
            end = self.deadly[-1] if len(self.deadly) == _MOST_DEADLY_CELLS else 0
        cells = [cell for cell in self.notebook.code if cell.number not in self.deadly and cell.number < end]
        # Only the original notebook has the starter code.
        starter_code = {
            asked.id: asked.starter_cell.source
            for asked in left
            if asked.starter_cell and self.notebook.released
        }
        return {
            "demonstrations": self.notebook.demonstrations,
            "cells": [[cell.number, cell.source] for cell in cells],
            "seconds": self.limit,
            "in_full": self.in_full,
            "questions": [
                {
                    "id": asked.id,
                    "function": asked.function,
                    "starter_code": starter_code.get(asked.id, ""),
                    "source": asked.check.source if asked.check else "",
                    "checks": [cell.number for cell in cells if asked.id in questions_checked(cell.source)],
                }
                for asked in left
            ],
        }

    def note(self, event: dict[str, Any]) -> None:
        """Record an event; see ``runner.py``."""
        match event:
            case {"cell": int(number), "failure": dict() as failure}:
                self.cells[number] = Failure(**failure)
            case {"question": str(question), "test": int(), "failure": failure}:
                self._end_test(question, Failure(**failure) if failure else None)
            case {"question": str(question), "status": str(status)}:
                self.statuses[question] = status
            case {"ended": str(how)}:
                self._blame(how, event.get("at", []))
            case {"done": True}:
                self.is_done = True
            case _:
                self._running, self._begun = event, time.monotonic()

    def _blame(self, how: str, at: Sequence[int]) -> None:
        """Attribute the end of the process to the cell or test that was running."""
        match self._running:
            case {"question": str(question), "test": int()}:
                self._end_test(question, self._failure(how, at))
            case {"cell": int(number)} if number not in self.deadly:
                self.deadly.append(number)
                self.cells[number] = self._failure(f"{how}, so it was left out", at or (number, 0))
            case _:
                raise BrokenRunError(f"the Python that ran your notebook {how}: run this again.")

    def _end_test(self, question: str, failure: Failure | None) -> None:
        self.tests[question].append(failure)
        self.seconds[question] += time.monotonic() - self._begun

    def _failure(self, text: str, at: Sequence[int]) -> Failure:
        """A failure, with its line of a cell if it is known."""
        if not at or not 0 < at[0] <= len(self.notebook.code):
            return Failure(text)
        number, line = at
        lines = ["", *self.notebook.code[number - 1].source.splitlines()]
        return Failure(text, number, line, code="".join(lines[line : line + 1]).strip())

    def report(self, question: Question) -> QuestionReport:
        """The report on a question; a test that ended the process is the last one."""
        status = self.statuses.get(question.id, "missing")
        if status not in {"answered", "untouched"}:
            return QuestionReport(question, "missing")
        if question.check is None:
            return QuestionReport(question, "untouched" if status == "untouched" else "unchecked")
        run = self.tests[question.id]
        tests = tuple((test.title, failure) for test, failure in zip(question.check.tests, run, strict=False))
        passes = len(tests) == len(question.check.tests) and not any(run)
        found: Status = "untouched" if status == "untouched" else "passes" if passes else "fails"
        return QuestionReport(question, found, tests, self.seconds[question.id])


def starter_code_report(notebook: StudentNotebook, asked: Sequence[Question]) -> NotebookReport | None:
    """The report on a notebook whose code is unchanged; None for any other notebook."""
    if notebook.released is None:
        return None
    before = [cell.source for cell in notebook.released.notebook.cells]
    if [cell.source for cell in notebook.code] != before:
        return None
    return NotebookReport(notebook, (), tuple(QuestionReport(each, "untouched") for each in asked))
