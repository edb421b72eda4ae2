"""Outside: differences between two results of one submission, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grader.results.result import Result, all_questions
from grader.scores import format_points


def differences(stored: Result, now: Result) -> Iterator[str]:
    """Where the second of two results of the same submission says something else, in a line each."""
    if stored["score"] != now["score"] or stored["max_score"] != now["max_score"]:
        yield f"score: {_score(stored)}, now {_score(now)}"
    after = {question["id"]: question for question in all_questions(now)}
    for question in all_questions(stored):
        other = after.pop(question["id"], None)
        if other is None:
            yield f"{question['id']}: the course does not ask it any more"
            continue
        checks = {check["id"]: check for check in other["checks"]}
        for check in question["checks"]:
            yield from _check_differs(question["id"], check, checks.pop(check["id"], None))
        yield from (f"{question['id']}, {check}: this check is new" for check in checks)
    yield from (f"{question}: this question is new" for question in after)


def _check_differs(question: str, stored: dict[str, Any], now: dict[str, Any] | None) -> Iterator[str]:
    if now is None:
        yield f"{question}, {stored['id']}: the course does not check it any more"
    elif stored["outcome"] != now["outcome"]:
        yield f"{question}, {stored['id']}: {stored['outcome']}, now {now['outcome']}"
    elif stored["message"] != now["message"]:
        yield f"{question}, {stored['id']}: {stored['outcome']} as then, but now it says: {now['message']}"
    elif stored["max_points"] != now["max_points"]:
        points = f"{format_points(stored['max_points'])} points, now {format_points(now['max_points'])}"
        yield f"{question}, {stored['id']}: {points}"


def _score(result: Result) -> str:
    return f"{format_points(result['score'])} of {format_points(result['max_score'])}"
