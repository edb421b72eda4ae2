"""Outside: the result of one submission, in the form that is written, fed back and exported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.check import Check
from grader.evidence import UNANSWERED, Evidence
from grader.flags import flags_of
from grader.judge import Verdict
from grader.question import Question
from grader.rubric import Rubric
from grader.score import earned
from grader.submission import Submission

SCHEMA = "autograd-grader/result/v1"

Result = dict[str, Any]
Provenance = Mapping[str, str | None]


def graded(
    submission: Submission,
    rubric: Rubric,
    evidence: Evidence,
    verdicts: Mapping[str, Verdict],
    provenance: Provenance,
) -> Result:
    """The result of a notebook that was observed and judged."""
    if evidence.fault is not None:
        return failed(submission, f"{evidence.fault[:1].upper()}{evidence.fault[1:]}.", provenance, rubric)
    questions = [_question(q, rubric, evidence.names[q.function], verdicts) for q in rubric.questions]
    flags = flags_of((), evidence.patched, [*submission.traces, *evidence.traces])
    return _result(submission, None, questions, flags, provenance)


def failed(
    submission: Submission,
    error: str,
    provenance: Provenance,
    rubric: Rubric | None = None,
) -> Result:
    """The result of a submission that could not be graded; with a rubric it has all checks, failed."""
    questions = [_question(q, rubric, "missing", {}, error) for q in rubric.questions] if rubric else []
    return _result(submission, error, questions, flags_of((), (), submission.traces), provenance)


def _result(
    submission: Submission,
    error: str | None,
    questions: list[dict[str, Any]],
    flags: list[dict[str, object]],
    provenance: Provenance,
) -> Result:
    return {
        "schema": SCHEMA,
        "student": submission.student,
        "assignment": submission.assignment,
        "notebook": submission.relative,
        "superseded": list(submission.superseded),
        "status": "graded" if error is None else "error",
        "error": error,
        "score": sum(question["score"] for question in questions),
        "max_score": sum(question["max_score"] for question in questions),
        "flags": flags,
        "questions": questions,
        "provenance": dict(provenance),
    }


def _question(
    question: Question,
    rubric: Rubric,
    status: str,
    verdicts: Mapping[str, Verdict],
    reason: str | None = None,
) -> dict[str, Any]:
    """One question; where the student answered nothing, every check fails for that reason."""
    checks = rubric.checks_of(question.id)
    if status != "answered":
        told = reason or UNANSWERED[status].format(name=question.function)
        verdicts = {check.id: Verdict("failed", told) for check in checks}
    return {
        "id": question.id,
        "title": question.title,
        "function": question.function,
        "status": status,
        "score": earned(checks, verdicts),
        "max_score": sum(check.points for check in checks),
        "checks": [
            _check(check, verdicts.get(check.id, _UNJUDGED), answered=status == "answered")
            for check in checks
        ],
    }


_UNJUDGED = Verdict("failed", "This check did not come to a verdict; your instructor has to look at it.")


def _check(check: Check, verdict: Verdict, *, answered: bool) -> dict[str, Any]:
    passed = verdict.outcome == "passed"
    return {
        "id": check.id,
        "title": check.title,
        "outcome": verdict.outcome,
        "points": check.points if passed else 0.0,
        "max_points": check.points,
        "message": verdict.message,
        "hint": None if passed or not answered else check.hint,
    }
