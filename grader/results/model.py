"""A result: what one submission earned, check by check, and what it was graded with.

From judging to JSON and back there is this one form. JSON is read strictly: a result that another program
changed is refused, and the sentence names what is wrong with it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from grader.checks.failed_cell import LEFT_OUT, RAISED, STOPPED, FailedCell
from grader.course.assignment import END_TASK
from grader.sandbox.evidence import Failure
from grader.scores import remarks
from grader.text import file_name

SCHEMA = "autograd-grader/result/v1"
#: How an end task stands, the best first.
END_TASKS = ("solved", "tried", "not tried")

_STATUSES = {"graded", "error"}
_ANSWERED = {"answered", "untouched", "missing"}
_OUTCOMES = {"passed", "failed", "error"}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check: how it ended, what it is worth, and the texts that a student may read.

    Attributes:
        points: what it earned, before the score of its question is capped.
        failure: the kind of failure, where `message` says why its probe was not observed; results of older
            graders do not have it.
    """

    id: str
    title: str
    outcome: str
    points: float
    max_points: float
    message: str | None
    hint: str | None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question, or the end task, and its checks.

    Attributes:
        status: ``answered``, ``untouched`` or ``missing``.
        afterword: what to know once it is solved; None before.
    """

    id: str
    title: str
    function: str
    status: str
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
    def standing(self) -> str:
        """How an end task stands, one of ``END_TASKS``."""
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

    notebook_sha256: str | None
    checks_sha256: str | None
    grader: str | None
    torch: str | None
    protection: str | None
    graded_at: str | None


@dataclass(frozen=True, slots=True)
class Result:
    """One result.

    Attributes:
        name: the assignment or, where that is unknown, a name of the notebook's own; files are called so.
        superseded: where other notebooks of the same student and assignment lie.
        status: ``graded`` or ``error``.
        cells: those that did not run to their end, the first of each way to end.
    """

    name: str
    student: str
    assignment: str | None
    notebook: str
    superseded: tuple[str, ...]
    status: str
    error: str | None
    score: float
    max_score: float
    flags: tuple[Flag, ...]
    questions: tuple[QuestionResult, ...]
    end_task: QuestionResult | None
    cells: tuple[FailedCell, ...]
    provenance: Provenance

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

    @classmethod
    def from_json(
        cls, stored: Any, name: str, known: dict[QuestionResult, QuestionResult] | None = None
    ) -> Result:
        """Read a stored result.

        Args:
            stored: JSON, decoded.
            name: of its file, without the suffix.
            known: questions of other results; what is equal to one of them is not kept twice.

        Raises:
            ValueError: it has not the form of a result; the text says where.
        """
        try:
            return _result(stored, name, {} if known is None else known)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"{type(error).__name__}: {str(error)[:80]}") from error


def _result(stored: Mapping[str, Any], name: str, known: dict[QuestionResult, QuestionResult]) -> Result:
    if stored["schema"] != SCHEMA:
        raise ValueError(f"its schema is {stored['schema']!r}")
    student, assignment = _text(stored["student"]), _text_or_none(stored["assignment"])
    if file_name(student) != student:
        raise ValueError("the student's name is no name of a folder")
    if assignment is not None and assignment != name:
        raise ValueError(f"it is a result of {assignment!r}")
    end_task = stored.get("end_task")  # results of before know none
    return Result(
        name,
        student,
        assignment,
        _text(stored["notebook"]),
        tuple(map(_text, stored["superseded"])),
        _one_of(stored["status"], _STATUSES),
        _text_or_none(stored["error"]),
        _points(stored["score"]),
        _points(stored["max_score"]),
        tuple(Flag(_text(flag["what"]), _number_or_none(flag["cell"])) for flag in stored["flags"]),
        tuple(_question(question, known) for question in stored["questions"]),
        _question(end_task, known) if end_task else None,
        tuple(map(_cell, stored.get("cells", ()))),
        _provenance(stored["provenance"]),
    )


def _question(stored: Mapping[str, Any], known: dict[QuestionResult, QuestionResult]) -> QuestionResult:
    question = QuestionResult(
        _text(stored["id"]),
        _text(stored["title"]),
        _text(stored["function"]),
        _one_of(stored["status"], _ANSWERED),
        _points(stored["score"]),
        _points(stored["max_score"]),
        tuple(map(_check, stored["checks"])),
        _text_or_none(stored.get("afterword")),
    )
    return known.setdefault(question, question)


def _check(stored: Mapping[str, Any]) -> CheckResult:
    failure = stored.get("failure")
    return CheckResult(
        _text(stored["id"]),
        _text(stored["title"]),
        _one_of(stored["outcome"], _OUTCOMES),
        _points(stored["points"]),
        _points(stored["max_points"]),
        _text_or_none(stored["message"]),
        _text_or_none(stored["hint"]),
        None if failure is None else Failure(failure),
    )


def _cell(stored: Mapping[str, Any]) -> FailedCell:
    number, ended = _number_or_none(stored["cell"]), _one_of(stored["ended"], {RAISED, STOPPED, LEFT_OUT})
    if number is None:
        raise TypeError("a cell has no number")
    return FailedCell(number, ended, _text(stored["text"]))


def _provenance(stored: Mapping[str, Any]) -> Provenance:
    return Provenance(**{name: _text_or_none(stored.get(name)) for name in Provenance.__slots__})


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _number_or_none(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise TypeError(f"{value!r} is no number of a cell")
    return value


def _one_of(value: Any, known: Collection[str]) -> str:
    if value not in known:
        raise ValueError(f"{value!r} is none of {', '.join(sorted(known))}")
    return _text(value)


def _points(value: Any) -> float:
    """A number of points; JSON of Python's knows NaN, which no other system understands."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{value!r} are no points")
    return value


def newest(results: Sequence[Result]) -> Result:
    """The result that was graded last; of several the one with most questions."""
    return max(results, key=lambda result: (result.provenance.graded_at or "", len(result.questions)))
