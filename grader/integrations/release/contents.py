"""What is in a student repository, file by file; nothing is copied that is not named here."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from grader.course.course import Course
from grader.errors import CourseError
from grader.integrations.release.wheel import SOURCES
from grader.scores import format_points, total
from grader.text import markdown_text
from grader.version import __version__

HANDOUT = ".handout"
"""The folder with the notebooks as they were handed out."""

_TEMPLATES = {
    "README.md": "README.md",
    "requirements.txt": "requirements.txt",
    "gitignore": ".gitignore",
    "gitattributes": ".gitattributes",
    "devcontainer.json": ".devcontainer/devcontainer.json",
    "classroom.yml": ".github/workflows/classroom.yml",
}
_PINNED = ("torch", "otter-grader", "ipykernel")
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)", re.MULTILINE)


def contents(course: Course, stems: Sequence[str], wheel: Path) -> dict[str, bytes]:
    """All files of a student repository, by their path in it.

    Only ``assignments/`` is read of the course, and the public parts of masters.

    Raises:
        CourseError: a file of the course cannot be read.
    """
    assignments = course.root / "assignments"
    files = {f"wheels/{wheel.name}": wheel.read_bytes()}
    for stem in stems:
        notebook = _read(assignments / f"{stem}.ipynb")
        files[f"{stem}.ipynb"] = files[f"{HANDOUT}/{stem}.ipynb"] = notebook
        for question in course.assignment(stem).questions:
            if question.public_check is not None:
                path = f"tests/{stem}/{question.id}.py"
                files[path] = _read(assignments / path)
    values = _template_values(course, stems, wheel)
    for template, path in _TEMPLATES.items():
        files[path] = _ENVIRONMENT.get_template(template).render(values).encode()
    return files


def _read(path: Path, advice: str = "run `make build`") -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CourseError(f"{path} cannot be read ({error.strerror}): {advice}.") from error


def _template_values(course: Course, stems: Sequence[str], wheel: Path) -> dict[str, Any]:
    assignments = []
    for stem in stems:
        assignment, points = course.assignment(stem), course.points(stem)
        questions = [
            {"id": q.id, "title": q.title, "function": q.function, "points": points[q.id]}
            for q in assignment.questions
            if not q.is_end_task
        ]
        worth = total(points.values())
        assignments.append({"stem": stem, "title": assignment.title, "points": worth, "questions": questions})
    return {
        "assignments": assignments,
        "first": stems[0],
        "partial_credit": 100 * course.settings.partial_credit,
        "pins": _pins(),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "version": __version__,
        "wheel": wheel.name,
    }


def _pins() -> Mapping[str, str]:
    """The versions of what students install beside the grader, as the course is tested with them."""
    path = SOURCES / "constraints.txt"
    text = _read(path, "it has the versions of packages").decode(errors="replace")
    versions = {pin["name"]: pin["version"] for pin in _PIN.finditer(text)}
    missing = ", ".join(name for name in _PINNED if name not in versions)
    if missing:
        raise CourseError(f"{path} names no version of {missing}: add a line such as `torch==2.13.0`.")
    return {name: versions[name] for name in _PINNED}


#: Workflows have braces of their own, so these templates are written with brackets.
_ENVIRONMENT = Environment(
    loader=PackageLoader("grader", "templates/release"),
    autoescape=False,  # noqa: S701 - no HTML; what the author wrote goes through `text`
    undefined=StrictUndefined,
    block_start_string="[%",
    block_end_string="%]",
    variable_start_string="[[",
    variable_end_string="]]",
    comment_start_string="[#",
    comment_end_string="#]",
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_ENVIRONMENT.filters.update(number=format_points, text=markdown_text)
