"""Outside: scores, from verdicts and points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.check import Check
from grader.gradebook import number
from grader.judge import Verdict
from grader.worth import total


def earned(checks: Sequence[Check], verdicts: Mapping[str, Verdict], partial_credit: float) -> float:
    """What a question earns: all when every check passed, else its passed checks, up to a part of it.

    Args:
        checks: of the question.
        verdicts: by the check's id.
        partial_credit: the part of the question, 0 to 1, that can be earned while one of its checks fails.
    """
    worth = total(check.points for check in checks)
    passed = [check.points for check in checks if is_passed(check, verdicts)]
    return worth if len(passed) == len(checks) else min(total(passed), total([partial_credit * worth]))


def cap(score: float, worth: float) -> str:
    """Why a question earned less than its passed checks are worth: what it did earn is the most it could.

    Args:
        score: what it earned; see `grader.worth.is_capped`.
        worth: what it is worth.
    """
    most = "half of its points" if 2 * score == worth else f"{number(score)} of its {number(worth)} points"
    return f"A question of which a check fails earns at most {most}."


def is_passed(check: Check, verdicts: Mapping[str, Verdict]) -> bool:
    """Whether a check passed; one without a verdict did not."""
    verdict = verdicts.get(check.id)
    return verdict is not None and verdict.outcome == "passed"
