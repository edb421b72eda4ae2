"""What an instructor's files say of one submission: of when it is, how late, and the points put right."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from grader.results.model import Adjustment, Late, Missing, QuestionResult, Result
from grader.scores import total


@dataclass(frozen=True)
class Standing:
    """Of one submission; the fields are those of a `Result`."""

    handed_in: str | None = None
    late: Late | None = None
    adjustments: tuple[Adjustment, ...] = ()
    missing: Missing | None = None
    extended: str | None = None
    seen: str | None = None

    @classmethod
    def of(cls, result: Result) -> Standing:
        """What a result was made with."""
        return cls(**{field.name: getattr(result, field.name) for field in fields(cls)})


def with_standing(result: Result, standing: Standing) -> Result:
    """The result with the adjustments in its scores, and without what it costs to be late.

    No score gets below 0 or above its maximum. The penalty is taken of what the checks gave, so that a point
    that a person gives is a point more.
    """
    adjusted = replace(
        result,
        questions=tuple(_adjusted(question, standing) for question in result.questions),
        **{field.name: getattr(standing, field.name) for field in fields(standing)},
    )
    whole = [given.points for given in standing.adjustments if given.question is None]
    points = [*(question.score for question in adjusted.questions), -adjusted.penalty, *whole]
    return replace(adjusted, score=_within(total(points), result.max_score))


def _adjusted(question: QuestionResult, standing: Standing) -> QuestionResult:
    given = [given.points for given in standing.adjustments if given.question == question.id]
    score = _within(total([question.score, *given]), question.max_score)
    return replace(question, score=score, adjusted=total([score, -question.score])) if given else question


def _within(score: float, most: float) -> float:
    return min(max(0.0, score), most)
