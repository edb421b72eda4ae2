"""Outside: Gradescope's ``results.json``: one test for each question, its checks in the test's text.

All of it is visible, because one hidden test would hide the total from the student.
"""

from __future__ import annotations

import json
from typing import Any

from grader.course.settings import Feedback
from grader.integrations.export import Export
from grader.integrations.export.github import plain
from grader.reports.templates import markdown_text
from grader.results.stored import Stored, StoredAnswer
from grader.scores import format_points
from grader.text import encodable, straight

_VISIBLE = "visible"


def export(export: Export) -> None:
    """Write ``<stem>/<student>/results.json``."""
    for stem, results in export.results.items():
        for one in results:
            document = json.dumps(results_json(one, export.shows), indent=1, allow_nan=False)
            export.write(f"{stem}/{one.student}/results.json", document + "\n")


def results_json(one: Stored, shows: Feedback) -> dict[str, Any]:
    """A result as Gradescope reads it; the numbers are exactly those of the result.

    Args:
        one: the result.
        shows: what the student may see.
    """
    what = f"{one.name}: {format_points(one.score)} of {format_points(one.max_score)} points"
    output = f"This notebook could not be graded. {one.error}" if one.error else what
    return {
        "score": plain(one.score),
        "output": str(markdown_text(output)),
        "output_format": "md",
        "visibility": _VISIBLE,
        "stdout_visibility": "hidden",
        "tests": [_test(index, answer, shows) for index, answer in enumerate(one.answers, 1)],
    }


def _test(index: int, answer: StoredAnswer, shows: Feedback) -> dict[str, Any]:
    return {
        "score": plain(answer.score),
        "max_score": plain(answer.max_score),
        "status": "passed" if answer.in_full else "failed",
        "name": encodable(straight(f"{answer.id} · {answer.title}")),
        "number": str(index),
        "output": _output(answer, shows),
        "output_format": "md",
        "visibility": _VISIBLE,
    }


def _output(answer: StoredAnswer, shows: Feedback) -> str:
    """The checks of a question as Markdown: title, points, diagnosis and hint."""
    if answer.status != "answered":
        return str(markdown_text(next((c.message for c in answer.checks if c.message), "Not answered.")))
    lines: list[str] = []
    said: dict[str, str] = {}
    for check in answer.checks:
        sign = "✅" if check.outcome == "passed" else "❌"
        points = f"{format_points(check.points)} of {format_points(check.max_points)}"
        lines += [f"- {sign} **{markdown_text(check.title)}** ({points})", ""]
        if check.message and check.message in said:
            if shows.diagnoses:
                lines += [f"  The same as for “{markdown_text(said[check.message])}”.", ""]
            continue
        said[check.message or ""] = check.title
        if check.message and shows.diagnoses:
            lines += [f"  {markdown_text(check.message)}", ""]
        if check.hint and shows.hints:
            lines += [f"  *Hint:* {markdown_text(check.hint)}", ""]
    lines += answer.remarks
    return "\n".join(lines).rstrip()
