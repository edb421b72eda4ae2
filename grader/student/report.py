"""On a student's machine: what a check found out about a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from grader.student.notebook import Question, StudentNotebook, cell_name
from grader.text import encodable, straight

Status = Literal["passes", "fails", "untouched", "missing", "unchecked"]

_MOST_LINES = 20
_MOST_CHARACTERS = 500  # in a line that a public test says
_MOST_OF_THEIRS = 200  # in a line of an error of the student's own


@dataclass(frozen=True)
class Failure:
    """What went wrong, and where in the notebook.

    Attributes:
        text: what a test said or, as in "your code ...", what it did; in lines fit to be shown.
        cell: the code cell nearest to it, counted from 1, or None.
        line: the line in that cell.
        code: that line.
        said: whether a public test said the text, and not Python.
    """

    text: str
    cell: int | None = None
    line: int = 0
    code: str = ""
    said: bool = False

    @classmethod
    def told(cls, told: dict[str, Any]) -> Failure:
        """From what the runner said."""
        kind, text = str(told.get("kind", "")), str(told.get("text", ""))
        said = told.get("said") is True
        if kind and not said:
            text = f"stopped with {kind}: {text}" if text else f"stopped with {kind}"
        cell = told.get("cell")
        place = cell if isinstance(cell, int) else None
        code = _bounded(str(told.get("code", "")), _MOST_OF_THEIRS)
        text = _bounded(text, _MOST_CHARACTERS if said else _MOST_OF_THEIRS)
        return cls(text, place, int(told.get("line") or 0), code, said)


@dataclass(frozen=True)
class TestReport:
    """One public test: what must hold, and what went wrong, or None."""

    title: str
    failure: Failure | None


@dataclass(frozen=True)
class QuestionReport:
    """One question.

    Attributes:
        question: the question.
        status: ``passes`` and ``fails``, or why no test was run: ``untouched`` (still as handed out),
            ``missing`` (not defined), ``unchecked`` (no public check).
        tests: its public tests that were run.
        seconds: how long they took.
    """

    question: Question
    status: Status
    tests: tuple[TestReport, ...] = ()
    seconds: float = 0.0

    @property
    def points(self) -> float:
        """All its points where everything passed, else 0."""
        return self.question.points if self.status == "passes" else 0.0

    @property
    def is_done(self) -> bool:
        """Whether nothing is left that a public check could ask for."""
        return self.status == "passes"


@dataclass(frozen=True)
class NotebookReport:
    """A notebook: the cells that failed, by number, and the questions that were asked for."""

    notebook: StudentNotebook
    cells: tuple[tuple[int, Failure], ...]
    questions: tuple[QuestionReport, ...]

    def cell_name(self, number: int) -> str:
        """What one of the notebook's code cells is called."""
        cells = self.notebook.document.notebook.cells
        return cell_name(number, cells[number - 1].source)

    @property
    def next_question(self) -> QuestionReport | None:
        """The first question that is not done, one that was begun before all others."""
        open_tasks = [
            question for question in self.questions if question.status in ("fails", "untouched", "missing")
        ]
        return next(
            (question for question in open_tasks if question.status == "fails"),
            next(iter(open_tasks), None),
        )


def _bounded(text: str, longest: int) -> str:
    """Text from a notebook: no more of it than a person reads, and nothing that moves a cursor."""
    lines = straight(encodable(text)).splitlines()
    more = ["..."] if len(lines) > _MOST_LINES else []
    return "\n".join([_cut(line, longest) for line in lines[:_MOST_LINES]] + more)


def _cut(line: str, longest: int) -> str:
    return line if len(line) <= longest else f"{line[:longest]} ..."
