"""The reference is judged before anybody is judged by it; where a check fails it, nobody is."""

from __future__ import annotations

from dataclasses import replace

from grader.checks.observation import Observation
from grader.course.cause import cause_of
from grader.course.rubric import Rubric, import_checks
from grader.errors import CourseError
from grader.grading.judge import error_of
from grader.sandbox.evidence import Evidence

_MOST_TOLD = 5  # to mend one often mends the others


def require_sound_checks(rubric: Rubric, expected: Evidence, ordinary: Evidence) -> None:
    """Run every check over the reference; without pytest, which would take longer than all of them.

    Args:
        rubric: the checks.
        expected: what is expected of submissions.
        ordinary: what the probes that have an oracle see of the reference itself.

    Raises:
        CourseError: a check fails or breaks on the reference; the text says where, and why.
    """
    seen = replace(expected, probes={**expected.probes, **ordinary.probes})
    functions = vars(import_checks(rubric.path))
    unsound: dict[str, str] = {}
    for check in rubric.checks:
        observations = {
            probe: Observation(probe, seen.outcome(probe), expected.outcome(probe)) for probe in check.probes
        }
        error = error_of(functions[check.id], observations)
        if error is not None:
            unsound.setdefault(cause_of(error, rubric.path.parent), check.id)
    if unsound:
        told = [f"{cause} ({check})" for cause, check in unsound.items()]
        more = [f"and {len(told) - _MOST_TOLD} more"] if len(told) > _MOST_TOLD else []
        listed = "\n".join([*told[:_MOST_TOLD], *more])
        raise CourseError(
            f"{rubric.stem}: nobody was graded, because hidden checks fail or break on the reference itself. "
            f"Mend them, or the reference:\n{listed}"
        )
