"""Outside: scores, from verdicts and points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.check import Check
from grader.judge import Verdict

#: The part of a question that can be earned while one of its checks fails.
PARTIAL_CREDIT = 0.5


def earned(checks: Sequence[Check], verdicts: Mapping[str, Verdict]) -> float:
    """What a question earns: all when every check passed, else its passed checks, at most half."""
    passed = sum(check.points for check in checks if is_passed(check, verdicts))
    total = sum(check.points for check in checks)
    return total if passed == total else min(passed, PARTIAL_CREDIT * total)


def is_passed(check: Check, verdicts: Mapping[str, Verdict]) -> bool:
    """Whether a check passed; one without a verdict did not."""
    verdict = verdicts.get(check.id)
    return verdict is not None and verdict.outcome == "passed"
