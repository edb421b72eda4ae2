"""Classroom 50's ``result.json``, whose scores are whole numbers.

All points of an assignment are multiplied by the smallest factor that makes them whole; the names of the
tests give the points themselves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from grader.integrations.export import Export, plain_text
from grader.results.model import Result
from grader.scores import points_text, total

SCHEMA = "classroom50/result/v1"
_LARGEST_FACTOR = 1000
_ROUNDING = 1e-6  # sums of floats are a little off

#: Environment variables of Classroom 50 about a single submission, by field.
_SUBMISSION_VARIABLES = {
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
    "review": "REVIEW_URL",
}


def write_files(export: Export) -> None:
    """Write ``<student>/<stem>/result.json``.

    The environment has the classroom's name and, for a single result, where it was handed in.
    """
    known: Mapping[str, str] = os.environ
    if sum(map(len, export.results.values())) > 1:
        known = {"CLASSROOM": os.environ.get("CLASSROOM", "")}
    for stem, results in export.results.items():
        factor = _common_factor(results, export.course.settings.partial_credit)
        points = {p for result in results for a in result.questions for p in (a.score, a.max_score)}
        if not all(_is_whole(factor * value) for value in points):
            export.note(f"{stem}: points were rounded down, because Classroom 50 takes whole numbers only.")
        if factor > 1:
            export.note(
                f"{stem}: all points are multiplied by {factor}, because Classroom 50 takes whole numbers"
                " only; the names of the tests say the points themselves."
            )
        for result in results:
            document = json.dumps(_result_json(result, factor, known), indent=1, allow_nan=False)
            export.write(f"{result.student}/{stem}/result.json", document + "\n")


def _result_json(result: Result, factor: int, environment: Mapping[str, str]) -> dict[str, Any]:
    """A result as Classroom 50 reads it; its total is the sum of its tests, less a penalty."""
    tests = []
    for answer in result.questions:
        points = points_text(answer.score, answer.max_score)
        most, score = (int(factor * value + _ROUNDING) for value in (answer.max_score, answer.score))
        tests.append(
            {
                "test-name": plain_text(f"{answer.id} · {answer.title} ({points} points)"),
                "passed": answer.in_full,
                "score": most if answer.in_full else score,
                "max-score": most,
            }
        )
    is_sum = result.score == total(answer.score for answer in result.questions)
    return {
        "schema": SCHEMA,
        "classroom": environment.get("CLASSROOM") or "",
        "assignment": environment.get("ASSIGNMENT") or result.name,
        "assignment_type": "individual",
        "owner": result.student,
        **{field: environment.get(variable) or "" for field, variable in _SUBMISSION_VARIABLES.items()},
        "datetime": result.provenance.graded_at or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": sum(test["score"] for test in tests) if is_sum else int(factor * result.score + _ROUNDING),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }


def _common_factor(results: Sequence[Result], partial_credit: float) -> int:
    """The smallest factor that makes all points of an assignment whole; 1 where it is above 1,000.

    Points earned have no part in it, so another notebook does not change it.
    """
    points: set[float] = set()
    for answer in (answer for result in results for answer in result.questions):
        points |= {answer.max_score, partial_credit * answer.max_score}
        points |= {check.max_points for check in answer.checks}
    factors = range(1, _LARGEST_FACTOR + 1)
    return next((factor for factor in factors if all(_is_whole(factor * value) for value in points)), 1)


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) < _ROUNDING
