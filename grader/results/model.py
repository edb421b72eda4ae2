"""A result: what a submission earned, check by check, and what it was graded with.

From judging to JSON and back (`reader.py`) there is this one form; reading keeps to these types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from grader.checks.failed_cell import RAISED, FailedCell
from grader.checks.finding import Kind
from grader.course.assignment import END_TASK
from grader.sandbox.decoding import Status
from grader.sandbox.evidence import Failure
from grader.scores import remarks

SCHEMA = "autograd-grader/result/v1"
#: Of an end task, the best first.
END_TASK_STATUSES = ("solved", "tried", "not tried")

Outcome = Literal["passed", "failed", "error"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check: how it ended, what it is worth, and the texts that a student may read.

    Attributes:
        points: what it earned, before the score of its question is capped.
        message: the diagnosis, with its case; None where the check passed.
        failure, kind, group, stopped: of its `Finding`; results of older graders do not have them.
    """

    id: str
    title: str
    outcome: Outcome
    points: float
    max_points: float
    message: str | None
    hint: str | None
    failure: Failure | None = None
    kind: Kind | None = None
    group: str = ""
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question, or the end task, and its checks.

    Attributes:
        afterword: what to know once it is solved; None before.
    """

    id: str
    title: str
    function: str
    status: Status
    score: float
    max_score: float
    checks: tuple[CheckResult, ...]
    afterword: str | None = None

    @property
    def in_full(self) -> bool:
        """Whether it earned all its points."""
        return self.score >= self.max_score

    @property
    def remarks(self) -> list[str]:
        """Why it earned less than its passed checks are worth, in sentences."""
        return remarks(self.score, self.max_score, ((check.outcome, check.points) for check in self.checks))

    @property
    def is_end_task(self) -> bool:
        """Whether it counts its checks, and no points."""
        return self.id == END_TASK

    @property
    def end_task_status(self) -> str:
        """Of ``END_TASK_STATUSES``, the word for an end task."""
        if self.status != "answered":
            return "not tried"
        return "solved" if self.score == self.max_score else "tried"


@dataclass(frozen=True, slots=True)
class Flag:
    """What was noticed, and in which code cell, from 1, or None."""

    what: str
    cell: int | None


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a submission was graded with; None where that is not known.

    Attributes:
        graded_at: in UTC, as in ``2026-11-21T03:00:00Z``.
    """

    notebook_sha256: str | None = None
    checks_sha256: str | None = None
    grader: str | None = None
    torch: str | None = None
    protection: str | None = None
    graded_at: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One result.

    Attributes:
        name: the assignment or, where that is unknown, a name of the notebook's own; files are called so.
        superseded: where other notebooks of the same student and assignment lie.
        cells: those that did not run to their end, the first of each way to end.
    """

    name: str
    student: str
    assignment: str | None
    notebook: str
    superseded: tuple[str, ...]
    status: Literal["graded", "error"]
    error: str | None
    score: float
    max_score: float
    flags: tuple[Flag, ...]
    questions: tuple[QuestionResult, ...]
    provenance: Provenance
    end_task: QuestionResult | None = None  # results of older graders have none, nor cells
    cells: tuple[FailedCell, ...] = ()

    @property
    def what(self) -> str:
        """The assignment or, where that is unknown, the notebook."""
        return self.assignment or self.notebook

    @property
    def all_questions(self) -> tuple[QuestionResult, ...]:
        """The questions, and the end task behind them."""
        return (*self.questions, self.end_task) if self.end_task else self.questions

    @property
    def unanswered(self) -> list[str]:
        """The questions which the student left as they were."""
        return [question.id for question in self.questions if question.status != "answered"]

    @property
    def stopped(self) -> list[FailedCell]:
        """The cells that did not end by themselves."""
        return [cell for cell in self.cells if cell.ended != RAISED]

    def to_json(self) -> dict[str, Any]:
        """The form that is stored."""
        fields = asdict(self)
        del fields["name"]
        return {"schema": SCHEMA, **fields}


def newest(results: Sequence[Result]) -> Result:
    """The result that was graded last; of several, the result with most questions."""
    return max(results, key=lambda result: (result.provenance.graded_at or "", len(result.questions)))
