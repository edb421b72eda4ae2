"""Outside: scores, from verdicts and points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.checks.check import Check
from grader.grading.judge import Verdict
from grader.scores import total


@dataclass(frozen=True)
class PartialCredit:
    """What a question earns while one of its checks fails: its passed checks, those that are free left out.

    Attributes:
        most: the part of the question, 0 to 1, that can be earned so.
        free: ids of the checks that the stub passes, so that passing them shows nothing.
    """

    most: float
    free: frozenset[str] = frozenset()

    @classmethod
    def of(cls, most: float, checks: Iterable[Check], on_stubs: Mapping[str, Verdict]) -> PartialCredit:
        """The rule of an assignment, by the verdicts on its stubs."""
        return cls(most, frozenset(check.id for check in checks if is_passed(check, on_stubs)))


def earned_by_check(
    checks: Sequence[Check], verdicts: Mapping[str, Verdict], credit: PartialCredit
) -> list[float]:
    """The points of each check of a question, before their sum is capped."""
    passed = [is_passed(check, verdicts) for check in checks]
    return [
        check.points if good and (all(passed) or check.id not in credit.free) else 0.0
        for check, good in zip(checks, passed, strict=True)
    ]


def earned(checks: Sequence[Check], verdicts: Mapping[str, Verdict], credit: PartialCredit) -> float:
    """What a question earns: all when every check passed, else partial credit.

    Args:
        checks: of the question.
        verdicts: by the check's id.
        credit: the rule.
    """
    worth = total(check.points for check in checks)
    if all(is_passed(check, verdicts) for check in checks):
        return worth
    return min(total(earned_by_check(checks, verdicts, credit)), total([credit.most * worth]))


def is_passed(check: Check, verdicts: Mapping[str, Verdict]) -> bool:
    """Whether a check passed; one without a verdict did not."""
    verdict = verdicts.get(check.id)
    return verdict is not None and verdict.outcome == "passed"
