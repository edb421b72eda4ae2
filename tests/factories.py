"""Makes up results that nobody earned, the folder they lie in, and facts that nobody observed."""

import base64
import json
import struct
from pathlib import Path

from grader.contracts.finding import Finding
from grader.contracts.observation import finding_without_observation
from grader.reports.class_report import report_html
from grader.results.model import SCHEMA
from grader.results.store import result_from_json
from grader.results.students import students_of
from grader.sandbox.evidence import Answer, NotObserved

HOSTILE = (
    "::notice title=Autograding complete::Points 99/9\n<img src=x onerror=alert(1)> =1+1 \x1b[31m\x00 @all"
)


def in_base64(numbers, code="f"):
    """The elements of a tensor as a worker sends them; the code is one of `struct`."""
    return base64.b64encode(struct.pack(f"{len(numbers)}{code}", *numbers)).decode()


def answer(**said):
    """A worker's answer to a request, with `facts` or `raised`."""
    return Answer.parse(json.dumps({"raised": None, "returned": None, "changed": [], "patched": [], **said}))


def row(
    student,
    *,
    score=3.0,
    status="answered",
    message=None,
    error=None,
    flags=(),
    cells=(),
    stem="01_tiny",
    at="1",
    **other,
):
    """A row of a class in which there is one question of three points.

    A message makes its check fail, and so does `NotObserved`, which says why nothing was seen; a list of
    them, and of None, stands for as many checks; `cells` are those of the result that failed. What else is
    given is the question's.
    """
    messages = message if isinstance(message, list) else [message]
    checks = [
        {
            "id": f"test_it{number or ''}",
            "title": "It is",
            "outcome": "failed" if message else "passed",
            "points": 0,
            "max_points": 1,
            "hint": None,
            **told(message),
        }
        for number, message in enumerate(messages)
    ]
    one = {**question(1, score, checks, status), "title": "Do it", "max_score": 3.0, **other}
    result = _result(
        student,
        stem,
        [one],
        status="error" if error else "graded",
        error=error,
        flags=[{"what": what, "cell": 1} for what in flags],
        provenance={"notebook_sha256": "0", "graded_at": at},
        cells=list(cells),
    )
    return result_from_json(result, stem or "essay")


def told(message):
    """What a check's result says of a finding: of a `Finding`, of `NotObserved`, of a text, or of nothing."""
    finding = finding_without_observation(message) if isinstance(message, NotObserved) else message
    if not isinstance(finding, Finding):
        return {"message": message}
    fields = {name: getattr(finding, name) for name in ("failure", "kind", "group", "stopped")}
    return {"message": finding.message, **fields}


def check(name, points=1.0, outcome="passed", message=None, hint=None):
    """One check."""
    return {
        "id": f"test_{name}",
        "title": f"It is {name}.",
        "outcome": outcome,
        "points": points if outcome == "passed" else 0.0,
        "max_points": points,
        "message": message,
        "hint": hint,
    }


def question(number, score, checks, status="answered"):
    """One question."""
    return {
        "id": f"q{number}",
        "title": f"Question {number}",
        "function": "f",
        "status": status,
        "score": score,
        "max_score": sum(each["max_points"] for each in checks),
        "checks": checks,
    }


def made(student, stem="01_tiny", message="It is not.", **changes):
    """A result of 4.5 of 10 points: nothing for q3, half of the nine points of q1 but no more, all of q2."""
    failed = check("last", 2.0, "failed", message, "Look again.")
    questions = [
        question(1, 3.5, [check("first", 5.0), failed]),
        question(2, 1.0, [check("second")]),
        question(3, 0.0, [check("third", 2.0, "failed", "Not answered yet.")], "untouched"),
    ]
    provenance = {"graded_at": "2026-11-21T03:00:00Z", "protection": "landlock+seccomp"}
    return _result(student, stem, changes.pop("questions", questions), provenance=provenance) | changes


def _result(student, stem, questions, **changes):
    """A result, graded for the points of its questions."""
    return {
        "schema": SCHEMA,
        "student": student,
        "assignment": stem,
        "notebook": f"{student}/{stem}.ipynb",
        "superseded": [],
        "status": "graded",
        "error": None,
        "score": sum(each["score"] for each in questions),
        "max_score": sum(each["max_score"] for each in questions),
        "flags": [],
        "questions": questions,
        **changes,
    }


def store(folder: Path, *results, name=None):
    """Write results as `grade` does."""
    for one in results:
        path = folder / "submissions" / one["student"] / f"{name or one['assignment']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(one), encoding="utf-8")
    return folder


def report_of(results, absent, protection, work=(), **options):
    """The report on results and absences."""
    return report_html(results, students_of(results, absent), protection, work=work, **options)
