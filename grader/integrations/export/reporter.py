"""Outside: the last step of a workflow: all questions' points in one.

The environment names the steps that checked a question, ``RUNNERS=q1_01_leaves,q2_01_leaves``, and holds
their outputs, ``Q1_01_LEAVES_RESULTS`` and so on. Ends with 0 where every question earned everything.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from grader.errors import GraderError
from grader.integrations.export import plain_number
from grader.integrations.export.github import (
    QuestionScore,
    Status,
    notices,
    quoted,
    step_summary,
    totals,
)
from grader.scores import format_points

HEADING = "Public checks"
_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STATUSES: dict[str, Status] = {"pass": "pass", "fail": "fail", "error": "error"}
_POINTS = re.compile(r" \([0-9.e+-]+/[0-9.e+-]+\)$")  # which `action_output` adds to a name


def main(environment: Mapping[str, str]) -> int:
    """Tell what all steps found; the status the process should end with."""
    try:
        runners = _runners(environment)
    except GraderError as error:
        click.echo(f"grader: {error}", err=True)
        return error.exit_status
    found = {runner: _scored(runner, environment) for runner in runners}
    scored = [one for one in found.values() if one is not None]
    lost = [runner for runner, one in found.items() if one is None]
    summary = step_summary(scored, HEADING)
    click.echo(quoted("\n".join(map(_line, scored))))
    if lost:
        told = (
            f"No result came from {', '.join(lost)}, so no points are reported: look at the logs of these"
            " steps."
        )
        click.echo(f"::error title=Autograding::{told}")
        summary += f"\n{told}\n"
    else:
        click.echo("\n".join(notices(scored)))
    _append(environment.get("GITHUB_STEP_SUMMARY"), summary)
    points, of = totals(scored)
    return 0 if not lost and points == of and all(one.status == "pass" for one in scored) else 1


def _runners(environment: Mapping[str, str]) -> list[str]:
    """The ids of the steps.

    Raises:
        GraderError: there is none, or one that cannot be the name of a variable.
    """
    runners = [runner.strip() for runner in environment.get("RUNNERS", "").split(",") if runner.strip()]
    if not runners:
        raise GraderError(
            "RUNNERS is empty: set it to the ids of the steps that check questions, as in q1,q2"
        )
    for runner in runners:
        if not _ID.fullmatch(runner):
            raise GraderError(f"RUNNERS names {runner!r}: an id has letters, digits and underscores only")
    return runners


def _scored(runner: str, environment: Mapping[str, str]) -> QuestionScore | None:
    """What a step found, or None where it said nothing that can be understood."""
    try:
        result = json.loads(base64.b64decode(environment[f"{runner.upper()}_RESULTS"], validate=True))
        tests = result["tests"]
        status = _STATUSES[result["status"]] if tests else "error"
        score, of = sum(_points(test["score"]) for test in tests), _points(result["max_score"])
        messages = [test["message"] for test in tests if isinstance(test.get("message"), str)]
        seconds = sum(_points(test.get("duration", 0)) for test in tests) / 1000
        title = ", ".join(_POINTS.sub("", str(test["name"])) for test in tests)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return None
    if score > of:
        return None
    title = "" if title == runner else title.removeprefix(f"{runner} ")
    return QuestionScore(runner, title, score, of, status, "\n".join(messages) or None, seconds)


def _points(value: Any) -> float:
    """A number that is one.

    Raises:
        ValueError: it is something else, not finite, or negative.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError(value)
    return plain_number(value)


def _line(one: QuestionScore) -> str:
    points = f"{format_points(one.score)}/{format_points(one.max_score)}"
    name = f"{one.id} ({one.title})" if one.title else one.id
    return f"{points:>9}  {one.status:5}  {name}"


def _append(path: str | None, text: str) -> None:
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(main(os.environ))
