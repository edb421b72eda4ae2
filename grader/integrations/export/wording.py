"""Outside: what a student is told of a question, as plain text for systems that show no more."""

from __future__ import annotations

from grader.course.settings import Feedback
from grader.results.stored import StoredAnswer


def told(answer: StoredAnswer, shows: Feedback) -> str | None:
    """What a student reads about a question that is not in full, a line for each text; None if it is.

    Args:
        answer: the question.
        shows: what the instructor lets students see.
    """
    if answer.in_full:
        return None
    if answer.status != "answered":
        return next((check.message for check in answer.checks if check.message), "Not answered.")
    lines: list[str] = []
    for check in answer.checks:
        if check.outcome == "passed":
            continue
        told_why = f": {check.message}" if shows.diagnoses and check.message else ""
        lines.append(f"{check.title.rstrip('.') if told_why else check.title}{told_why}")
        if shows.hints and check.hint:
            lines.append(f"Hint: {check.hint}")
    lines += answer.remarks
    return "\n".join(" ".join(line.split()) for line in lines) or None
