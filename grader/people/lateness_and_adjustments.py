"""The lateness and adjustments of a submission, from the instructor's files."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from grader.results.model import Adjustment, Late, Missing, QuestionResult, Result
from grader.scores import total


@dataclass(frozen=True)
class LatenessAndAdjustments:
    """The lateness and adjustments of one submission; the fields are those of a `Result`."""

    handed_in: str | None = None
    late: Late | None = None
    adjustments: tuple[Adjustment, ...] = ()
    missing: Missing | None = None
    extended: str | None = None
    seen: str | None = None

    @classmethod
    def of(cls, result: Result) -> LatenessAndAdjustments:
        """Those of a stored result."""
        return cls(**{field.name: getattr(result, field.name) for field in fields(cls)})


def with_lateness_and_adjustments(result: Result, given: LatenessAndAdjustments) -> Result:
    """The result with adjusted scores, and with the penalty for lateness subtracted.

    No score gets below 0 or above its maximum. The penalty is computed from the points of the checks, so an
    adjustment of one point changes the score by one point.
    """
    adjusted = replace(
        result,
        questions=tuple(_adjusted(question, given) for question in result.questions),
        **{field.name: getattr(given, field.name) for field in fields(given)},
    )
    whole = [one.points for one in given.adjustments if one.question is None]
    points = [*(question.score for question in adjusted.questions), -adjusted.penalty, *whole]
    return replace(adjusted, score=_within(total(points), result.max_score))


def _adjusted(question: QuestionResult, given: LatenessAndAdjustments) -> QuestionResult:
    points = [one.points for one in given.adjustments if one.question == question.id]
    score = _within(total([question.score, *points]), question.max_score)
    return replace(question, score=score, adjusted=total([score, -question.score])) if points else question


def _within(score: float, most: float) -> float:
    return min(max(0.0, score), most)
