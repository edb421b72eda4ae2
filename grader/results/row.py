"""Outside: a row of the class, what gradebook, report and terminal need of a result and no more.

A class of thousands is held in memory as rows; what is equal in many of them is there once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from grader.checks.failed_cell import RAISED

T = TypeVar("T")

#: How an end task stands, the best first.
END_TASKS = ("solved", "tried", "not tried")


@dataclass(frozen=True, slots=True)
class Checked:
    """How one check ended, and the diagnosis."""

    id: str
    title: str
    outcome: str
    message: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What one question earned, and by which checks."""

    id: str
    title: str
    status: str
    score: float
    max_score: float
    checks: tuple[Checked, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One result.

    Attributes:
        name: its feedback lies under this name in the student's folder.
        flags: what was noticed, and in which cell or None.
        provenance: what it was graded with, as in the result.
        stopped: the cells that did not end by themselves, and why they were left out; a text that is empty
            where their time ran out.
        end_task: of how the end task stands, one of ``END_TASKS``; None where there is none.
        others: as in the result.
    """

    name: str
    student: str
    assignment: str | None
    notebook: str
    status: str
    error: str | None
    score: float
    max_score: float
    superseded: tuple[str, ...]
    flags: tuple[tuple[str, int | None], ...]
    provenance: tuple[tuple[str, str | None], ...]
    answers: tuple[Answer, ...]
    stopped: tuple[tuple[int, str], ...] = ()
    end_task: str | None = None

    @property
    def what(self) -> str:
        """The assignment or, where that is unknown, the notebook."""
        return self.assignment or self.notebook

    @property
    def unanswered(self) -> list[str]:
        """The questions which the student left as they were."""
        return [answer.id for answer in self.answers if answer.status != "answered"]


class Rows:
    """Makes rows of results, and lets them share what is equal."""

    def __init__(self) -> None:
        self._known: dict[object, object] = {}

    def share(self, value: T) -> T:
        """The first value that was equal to this one."""
        return self._known.setdefault(value, value)  # type: ignore[return-value]

    def row_of(self, result: Mapping[str, Any], name: str) -> Row:
        """The row of a result.

        Raises:
            KeyError, TypeError: it has not the form of a result.
        """
        end_task = result.get("end_task")  # an older result says nothing of it
        return Row(
            name,
            result["student"],
            self.share(result["assignment"]),
            result["notebook"],
            self.share(result["status"]),
            result["error"],
            result["score"],
            result["max_score"],
            tuple(result["superseded"]),
            self.share(tuple((flag["what"], flag["cell"]) for flag in result["flags"])),
            tuple(map(self.share, result["provenance"].items())),
            self.share(tuple(map(self._answer, result["questions"]))),
            self.share(tuple(map(_stopped, filter(_is_stopped, result.get("cells", []))))),
            end_task and end_task_standing(end_task),
        )

    def _answer(self, question: Mapping[str, Any]) -> Answer:
        checks = tuple(
            self.share(Checked(check["id"], check["title"], check["outcome"], check["message"]))
            for check in question["checks"]
        )
        return self.share(
            Answer(
                question["id"],
                question["title"],
                question["status"],
                question["score"],
                question["max_score"],
                checks,
            )
        )


def end_task_standing(end_task: Mapping[str, Any]) -> str:
    """How an end task of a result stands, one of ``END_TASKS``."""
    if end_task["status"] != "answered":
        return "not tried"
    return "solved" if end_task["score"] == end_task["max_score"] else "tried"


def _is_stopped(cell: Mapping[str, Any]) -> bool:
    return bool(cell["ended"] != RAISED)


def _stopped(cell: Mapping[str, Any]) -> tuple[int, str]:
    return cell["cell"], cell["text"]
