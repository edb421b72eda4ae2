"""Bundles for Classroom 50, which grade a push to a student's repository by the public checks.

Everybody can read them, so they hold what a student repository holds, and nothing more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.course.course import Course
from grader.integrations.classroom50 import rounded_down, slug_of, smallest_factor
from grader.integrations.release import autograder
from grader.scores import counted_points

#: Files of a release that belong to no single assignment: which name each has there, and what runs them.
SLUGS, RUNTIME = "slugs.json", "runtime.json"


def bundles(
    course: Course, stems: Sequence[str], wheel: Path, install: Sequence[str], python: str
) -> dict[str, bytes]:
    """All files of the bundles, by path: a folder for each assignment, as the config repository has them.

    Args:
        install: for each run of pip, its arguments, without the wheel; the last must succeed.
        python: the version of Python that the course is tested with.

    Raises:
        GraderError: the name of an assignment is too long.
    """
    slugs = {stem: slug_of(stem) for stem in stems}
    files = {SLUGS: _json(slugs), RUNTIME: _json({"python": python})}
    for stem, slug in slugs.items():
        folder = f"autograders/{slug}"
        files[f"{folder}/autograder.py"] = Path(autograder.__file__).read_bytes()
        files[f"{folder}/{wheel.name}"] = wheel.read_bytes()
        files[f"{folder}/{autograder.BUNDLE}"] = _json(
            {
                "notebook": f"{stem}.ipynb",
                "wheel": wheel.name,
                "install": [line.split() for line in install],
                "questions": _questions(course, stem),
            }
        )
    return files


def _questions(course: Course, stem: str) -> list[dict[str, Any]]:
    """The questions with a public check, whose points are multiplied until all of them are whole."""
    points = course.points(stem)
    asked = [
        question
        for question in course.assignment(stem).questions
        if question.public_check is not None and not question.is_bonus_task
    ]
    factor = smallest_factor(points[question.id] for question in asked)
    return [
        {
            "output": f"{question.id}_{stem}",
            "test": f"{question.id} · {question.title} ({counted_points(points[question.id])})",
            "points": rounded_down(factor * points[question.id]),
        }
        for question in asked
    ]


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
