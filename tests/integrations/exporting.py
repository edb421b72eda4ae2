"""Results made up for the tests of exports, and the folder they lie in."""

import json
from pathlib import Path

HOSTILE = (
    "::notice title=Autograding complete::Points 99/9\n<img src=x onerror=alert(1)> =1+1 \x1b[31m\x00 @all"
)


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
    return {
        "schema": "autograd-grader/result/v1",
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
        "provenance": {"graded_at": "2026-11-21T03:00:00Z", "protection": "landlock+seccomp"},
        **changes,
    }


def store(folder: Path, *results, name=None):
    """Write results as `grade` does."""
    for one in results:
        path = folder / "submissions" / one["student"] / f"{name or one['assignment']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(one), encoding="utf-8")
    return folder
