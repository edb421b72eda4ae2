"""Outside: Classroom 50's ``result.json``, whose scores are whole numbers.

Points of an assignment are multiplied by the smallest factor that makes all of them whole. It follows from
what the checks are worth, so it is the same for every student; a test's name says the points themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from grader.integrations.export import Export
from grader.results.stored import Stored, StoredAnswer
from grader.scores import format_points
from grader.text import encodable, straight

SCHEMA = "classroom50/result/v1"
_LARGEST_FACTOR = 1000
_ROUNDING = 1e-6  # sums of floats are a little off

# The variables of Classroom 50's environment that say something about one submission.
_OF_ONE = {
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
    "review": "REVIEW_URL",
}


def export(export: Export, environment: Mapping[str, str]) -> None:
    """Write ``<student>/<stem>/result.json``.

    Args:
        export: what, and where to.
        environment: gives the classroom's name and, for a single result, where it was handed in.
    """
    every = [one for results in export.results.values() for one in results]
    known = environment if len(every) == 1 else {"CLASSROOM": environment.get("CLASSROOM", "")}
    for stem, results in export.results.items():
        factor = common_factor(results, export.partial_credit) or 1
        if not all(_is_whole(factor * points) for one in results for points in _points(one)):
            export.note(f"{stem}: points were rounded down, because Classroom 50 takes whole numbers only.")
        if factor > 1:
            export.note(
                f"{stem}: all points are multiplied by {factor}, because Classroom 50 takes whole numbers"
                " only; the names of the tests say the points themselves."
            )
        for one in results:
            document = json.dumps(result_json(one, factor, known), indent=1, allow_nan=False)
            export.write(f"{one.student}/{stem}/result.json", document + "\n")


def result_json(one: Stored, factor: int, environment: Mapping[str, str]) -> dict[str, Any]:
    """A result as Classroom 50 reads it; its total is the sum of its tests."""
    tests = [_test(answer, factor) for answer in one.answers]
    return {
        "schema": SCHEMA,
        "classroom": environment.get("CLASSROOM") or "",
        "assignment": environment.get("ASSIGNMENT") or one.name,
        "assignment_type": "individual",
        "owner": one.student,
        **{field: environment.get(variable) or "" for field, variable in _OF_ONE.items()},
        "datetime": one.graded_at or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }


def _test(answer: StoredAnswer, factor: int) -> dict[str, Any]:
    points = f"{format_points(answer.score)} of {format_points(answer.max_score)}"
    most = int(factor * answer.max_score + _ROUNDING)
    return {
        "test-name": encodable(straight(f"{answer.id} · {answer.title} ({points} points)")),
        "passed": answer.in_full,
        "score": most if answer.in_full else int(factor * answer.score + _ROUNDING),
        "max-score": most,
    }


def common_factor(results: Sequence[Stored], partial_credit: float) -> int | None:
    """The least number that makes all points whole that an assignment can give; None where it is above 1,000.

    What anybody has earned does not matter, so that one more notebook changes nobody's points.

    Args:
        results: of the assignment.
        partial_credit: what a question may earn of which a check fails, as a part of its points.
    """
    points: set[float] = set()
    for one in results:
        for answer in one.answers:
            points |= {answer.max_score, partial_credit * answer.max_score}
            points |= {check.max_points for check in answer.checks}
    for factor in range(1, _LARGEST_FACTOR + 1):
        if all(_is_whole(factor * value) for value in points):
            return factor
    return None


def _points(one: Stored) -> Iterator[float]:
    for answer in one.answers:
        yield from (answer.score, answer.max_score)


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) < _ROUNDING
