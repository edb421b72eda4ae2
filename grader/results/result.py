"""Outside: the result of one submission, in the form that is written, fed back and exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grader.checks.check import Check
from grader.checks.failed_cell import as_stored
from grader.course.assignment import END_TASK, Question
from grader.course.rubric import Rubric
from grader.grading.flags import flags_of
from grader.grading.judge import Verdict
from grader.grading.scoring import PartialCredit, earned, earned_by_check, is_passed
from grader.grading.submission import Submission
from grader.sandbox.evidence import UNANSWERED, UNJUDGED, Evidence
from grader.scores import total

SCHEMA = "autograd-grader/result/v1"

Result = dict[str, Any]
Provenance = Mapping[str, str | None]


def graded(  # noqa: PLR0913, PLR0917 - a result is made of all these
    submission: Submission,
    rubric: Rubric,
    evidence: Evidence,
    verdicts: Mapping[str, Verdict],
    provenance: Provenance,
    credit: PartialCredit,
) -> Result:
    """The result of a notebook that was observed and judged."""
    if evidence.fault is not None:
        error = f"{evidence.fault[:1].upper()}{evidence.fault[1:]}."
        return {**failed(submission, error, provenance, rubric), "cells": as_stored(evidence.cells)}
    questions = []
    for question in rubric.questions:
        status, checks = evidence.names[question.function], rubric.checks_of(question.id)
        if status != "answered":
            verdicts = {**verdicts, **_all_failed(checks, UNANSWERED[status].format(name=question.function))}
        rule = _EACH_CHECK if question.is_end_task else credit
        questions.append(_question(question, status, checks, verdicts, rule))
    flags = flags_of((), evidence.patched, [*submission.traces, *evidence.traces])
    return {**_result(submission, None, questions, flags, provenance), "cells": as_stored(evidence.cells)}


def failed(
    submission: Submission,
    error: str,
    provenance: Provenance,
    rubric: Rubric | None = None,
) -> Result:
    """The result of a submission that could not be graded; with a rubric it has all checks, failed."""
    asked = [(question, rubric.checks_of(question.id)) for question in rubric.questions] if rubric else []
    nothing = PartialCredit(0.0)
    questions = [_question(q, "missing", checks, _all_failed(checks, error), nothing) for q, checks in asked]
    return _result(submission, error, questions, flags_of((), (), submission.traces), provenance)


def all_questions(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The questions of a result, and its end task behind them; a result of an older grader has none."""
    end_task = result.get("end_task")
    return [*result["questions"], *([end_task] if end_task else [])]


def _result(
    submission: Submission,
    error: str | None,
    asked: list[dict[str, Any]],
    flags: list[dict[str, object]],
    provenance: Provenance,
) -> Result:
    end_task = next((question for question in asked if question["id"] == END_TASK), None)
    questions = [question for question in asked if question is not end_task]
    return {
        "schema": SCHEMA,
        "student": submission.student,
        "assignment": submission.assignment,
        "notebook": submission.relative,
        "superseded": list(submission.superseded),
        "status": "graded" if error is None else "error",
        "error": error,
        "score": total(question["score"] for question in questions),
        "max_score": total(question["max_score"] for question in questions),
        "flags": flags,
        "questions": questions,
        "end_task": end_task,
        "cells": [],
        "provenance": dict(provenance),
    }


def _question(
    question: Question,
    status: str,
    checks: Sequence[Check],
    verdicts: Mapping[str, Verdict],
    credit: PartialCredit,
) -> dict[str, Any]:
    points = earned_by_check(checks, verdicts, credit)
    solved = all(is_passed(check, verdicts) for check in checks)
    return {
        "id": question.id,
        "title": question.title,
        "function": question.function,
        "status": status,
        "score": earned(checks, verdicts, credit),
        "max_score": total(check.points for check in checks),
        "checks": [
            _check(check, verdicts.get(check.id, _UNJUDGED), worth)
            for check, worth in zip(checks, points, strict=True)
        ],
        "afterword": question.afterword if solved else None,
    }


def _all_failed(checks: Sequence[Check], reason: str) -> dict[str, Verdict]:
    """The verdicts on a question in which there is nothing to be judged."""
    return {check.id: Verdict("failed", reason) for check in checks}


_EACH_CHECK = PartialCredit(1.0)  # an end task counts its checks, and no points
_UNJUDGED = Verdict("failed", UNJUDGED)


def _check(check: Check, verdict: Verdict, points: float) -> dict[str, Any]:
    return {
        "id": check.id,
        "title": check.title,
        "outcome": verdict.outcome,
        "points": points,
        "max_points": check.points,
        "message": verdict.message,
        "hint": verdict.hint,
    }
