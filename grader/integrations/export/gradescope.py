"""Gradescope's ``results.json``: one test for each question, its checks in the test's text.

All of it is visible, because one hidden test would hide the total from the student.
"""

from __future__ import annotations

import json
from typing import Any

from grader.course.settings import Feedback
from grader.integrations.export import Export, plain_number, plain_text, points_text, status_text
from grader.integrations.gradescope_autograder import autograder
from grader.reports.templates import markdown_text
from grader.results.model import QuestionResult, Result

_VISIBLE = "visible"


def write_files(export: Export) -> None:
    """Write ``<stem>.zip``, the autograder, and ``<stem>/<student>/results.json``."""
    for stem in export.stems:
        export.write(f"{stem}.zip", autograder(export.course, stem))
    export.note(
        "A zip holds the reference solution and hidden checks: upload it to Gradescope, give it to nobody."
        " Raise its container there to 2 CPUs and 6 GB: the default of 768 MB is too small for torch."
    )
    for stem, results in export.results.items():
        for result in results:
            document = json.dumps(results_json(result, export.shows), indent=1, allow_nan=False)
            export.write(f"{stem}/{result.student}/results.json", document + "\n")


def results_json(result: Result, shows: Feedback) -> dict[str, Any]:
    """A result as Gradescope reads it, with exactly its numbers and what the student may see."""
    points = f"{result.name}: {points_text(result.score, result.max_score)} points"
    output = f"This notebook could not be graded. {result.error}" if result.error else points
    return {
        "score": plain_number(result.score),
        "output": str(markdown_text(output)),
        "output_format": "md",
        "visibility": _VISIBLE,
        "stdout_visibility": "hidden",
        "tests": [_test(index, answer, shows) for index, answer in enumerate(result.questions, 1)],
    }


def _test(index: int, answer: QuestionResult, shows: Feedback) -> dict[str, Any]:
    return {
        "score": plain_number(answer.score),
        "max_score": plain_number(answer.max_score),
        "status": "passed" if answer.in_full else "failed",
        "name": plain_text(f"{answer.id} · {answer.title}"),
        "number": str(index),
        "output": _output(answer, shows),
        "output_format": "md",
        "visibility": _VISIBLE,
    }


def _output(answer: QuestionResult, shows: Feedback) -> str:
    """The checks of a question as Markdown: title, points, diagnosis and hint."""
    if answer.status != "answered":
        return str(markdown_text(status_text(answer)))
    lines: list[str] = []
    titles: dict[str, str] = {}
    for check in answer.checks:
        sign = "✅" if check.outcome == "passed" else "❌"
        points = points_text(check.points, check.max_points)
        lines += [f"- {sign} **{markdown_text(check.title)}** ({points})", ""]
        if check.message and check.message in titles:
            if shows.diagnoses:
                lines += [f"  The same as for “{markdown_text(titles[check.message])}”.", ""]
            continue
        titles[check.message or ""] = check.title
        if check.message and shows.diagnoses:
            lines += [f"  {markdown_text(check.message)}", ""]
        if check.hint and shows.hints:
            lines += [f"  *Hint:* {markdown_text(check.hint)}", ""]
    lines += answer.remarks
    return "\n".join(lines).rstrip()
