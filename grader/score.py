"""Outside: scores, from verdicts and points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.check import Check
from grader.judge import Verdict

#: The part of a question that can be earned while one of its checks fails.
PARTIAL_CREDIT = 0.5


def earned(checks: Sequence[Check], verdicts: Mapping[str, Verdict]) -> float:
    """What a question earns: all when every check passed, else its passed checks, at most half."""
    total = sum(check.points for check in checks)
    passed = [check.points for check in checks if is_passed(check, verdicts)]
    return total if len(passed) == len(checks) else min(sum(passed), PARTIAL_CREDIT * total)


def is_passed(check: Check, verdicts: Mapping[str, Verdict]) -> bool:
    """Whether a check passed; one without a verdict did not."""
    verdict = verdicts.get(check.id)
    return verdict is not None and verdict.outcome == "passed"
