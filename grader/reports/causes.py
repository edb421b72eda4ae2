"""The failed checks of a question in the order of their causes, each of which is told once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from grader.results.model import CheckResult
from grader.sandbox.evidence import CONSEQUENCES, ENDINGS

_STOPPED = re.compile(r"(?:^|: )(?:[Ii]n .{1,200}`[^`]*` stopped|[Yy]our code stopped) ")


@dataclass
class Diagnosis:
    """What was found out, and the checks that failed because of it.

    Attributes:
        check: the first of them, as in a result.
        same: the others that were told the same.
        follows: those that could not be looked at because of something before them.
    """

    check: CheckResult
    same: list[CheckResult] = field(default_factory=list)
    follows: list[CheckResult] = field(default_factory=list)


def diagnoses_of(checks: Sequence[CheckResult]) -> list[Diagnosis]:
    """Failed checks by what they were told: the root cause first, and what follows from it below.

    Code that was stopped or stopped itself comes first, for it may be why other checks failed; then what most
    checks were told. What was not reached has no cause of its own, and belongs to the first.

    Args:
        checks: of one question, as in a result.
    """
    by_message: dict[str, Diagnosis] = {}
    unreached: list[CheckResult] = []
    for check in checks:
        message = check.message or ""
        if check.outcome == "passed":
            continue
        if check.failure in CONSEQUENCES:
            unreached.append(check)
        elif message and message in by_message:
            by_message[message].same.append(check)
        else:
            by_message[message or check.id] = Diagnosis(check)
    found = sorted(by_message.values(), key=_rank)
    if found:
        found[0].follows = unreached
        return found
    return [Diagnosis(unreached[0], unreached[1:])] if unreached else []


def _rank(diagnosis: Diagnosis) -> tuple[int, int]:
    check = diagnosis.check
    has_stopped = check.failure in ENDINGS or _STOPPED.search(check.message or "")
    return (0 if has_stopped else 1), -len(diagnosis.same)
