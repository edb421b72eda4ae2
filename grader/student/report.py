"""What a check found out about a student's notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from grader.student.notebook import Question, StudentNotebook, cell_name
from grader.text import encodable, straight

Status = Literal["passes", "fails", "untouched", "missing", "unchecked"]

_MOST_LINES = 20
_MOST_CHARACTERS = 500  # in a line that a public test says
_MOST_OF_ERRORS = 200  # in a line of an error of the student's code


@dataclass(frozen=True)
class Failure:
    """What went wrong, and where in the notebook."""

    text: str  # what a test said or, as in "your code ...", what it did; in lines fit to be shown
    cell: int | None = None  # the nearest code cell, counted from 1
    line: int = 0  # in that cell
    code: str = ""  # that line
    said: bool = False  # by a public test, not by Python
    kind: str = ""  # of the exception, where there was one

    @classmethod
    def from_event(cls, event: dict[str, Any]) -> Failure:
        """From what the runner said."""
        kind, text = str(event.get("kind", "")), str(event.get("text", ""))
        said = event.get("said") is True
        if kind and not said:
            text = f"stopped with {kind}: {text}" if text else f"stopped with {kind}"
        cell = event.get("cell")
        return cls(
            _bounded(text, _MOST_CHARACTERS if said else _MOST_OF_ERRORS),
            cell if isinstance(cell, int) else None,
            int(event.get("line") or 0),
            _bounded(str(event.get("code", "")), _MOST_OF_ERRORS),
            said,
            kind,
        )


@dataclass(frozen=True)
class TestReport:
    """One public test: what must hold, and what went wrong, or None."""

    title: str
    failure: Failure | None


@dataclass(frozen=True)
class QuestionReport:
    """A question, its public tests that were run, and how long they took.

    The status says why no test was run: ``untouched`` (still as handed out), ``missing`` (not defined) or
    ``unchecked`` (no public check).
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
        """Whether it passes."""
        return self.status == "passes"


@dataclass(frozen=True)
class NotebookReport:
    """A notebook: the cells that failed, by number, and the questions that were checked."""

    notebook: StudentNotebook
    cells: tuple[tuple[int, Failure], ...]
    questions: tuple[QuestionReport, ...]

    def cell_name(self, number: int) -> str:
        """What one of the notebook's code cells is called."""
        return cell_name(number, self.notebook.code[number - 1].source)

    @property
    def passed(self) -> frozenset[str]:
        """The ids of the questions that pass."""
        return frozenset(answer.question.id for answer in self.questions if answer.is_done)

    @property
    def next_question(self) -> QuestionReport | None:
        """The first question that fails, else the first that is not begun or not defined."""
        left = [answer for answer in self.questions if answer.status in ("fails", "untouched", "missing")]
        return min(left, key=lambda answer: answer.status != "fails", default=None)


def _bounded(text: str, longest: int) -> str:
    """Text of a notebook, cut to what a person reads, and without characters that move a cursor."""
    lines = straight(encodable(text)).splitlines()
    more = ["..."] if len(lines) > _MOST_LINES else []
    return "\n".join([_cut(line, longest) for line in lines[:_MOST_LINES]] + more)


def _cut(line: str, longest: int) -> str:
    return line if len(line) <= longest else f"{line[:longest]} ..."
