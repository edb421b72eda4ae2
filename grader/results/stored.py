"""Outside: results as ``grade`` has stored them, read for other systems and trusted in nothing."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from grader.errors import GraderError
from grader.results.folder import read_run
from grader.results.result import SCHEMA, Result
from grader.scores import remarks
from grader.text import file_name, without_formula

_STATUSES = {"graded", "error"}
_ANSWERED = {"answered", "untouched", "missing"}
_OUTCOMES = {"passed", "failed", "error"}


@dataclass(frozen=True)
class StoredCheck:
    """One check: its title, how it ended, what it is worth, and the texts a student may read."""

    id: str
    title: str
    outcome: str
    points: float
    max_points: float
    message: str | None
    hint: str | None


@dataclass(frozen=True)
class StoredAnswer:
    """One question, and its checks."""

    id: str
    title: str
    status: str
    score: float
    max_score: float
    checks: tuple[StoredCheck, ...]

    @property
    def in_full(self) -> bool:
        """Whether it earned all its points."""
        return self.score >= self.max_score

    @property
    def remarks(self) -> list[str]:
        """Why it earned less than its passed checks are worth, in sentences."""
        return remarks(self.score, self.max_score, ((check.outcome, check.points) for check in self.checks))


@dataclass(frozen=True)
class Stored:
    """One result; ``name`` is the assignment or, where that is unknown, the notebook's own.

    Attributes:
        graded_at: in UTC, as in ``2026-11-21T03:00:00Z``; empty where that is not known.
    """

    student: str
    name: str
    assignment: str | None
    notebook: str
    error: str | None
    score: float
    max_score: float
    answers: tuple[StoredAnswer, ...]
    graded_at: str


def read_results(results: Path) -> list[Stored]:
    """All stored results below ``--out`` of ``grade``, sorted by student and name.

    Raises:
        GraderError: there are none, or a file of them is not a result.
    """
    folder = results / "submissions"
    try:
        paths = sorted(
            path
            for student in folder.iterdir()
            if student.is_dir() and not student.is_symlink()
            for path in student.iterdir()
            if path.suffix == ".json" and path.is_file() and not path.is_symlink()
        )
    except OSError as error:
        raise GraderError(
            f"{folder} cannot be read ({error.strerror}): grade a class first, or name the folder of its"
            " results by --results"
        ) from error
    if not paths:
        raise GraderError(f"{folder} holds no results: grade a class first, or name another by --results")
    return [_read(path) for path in paths]


def still_handed_in(stored: Sequence[Stored], results: Path) -> tuple[list[Stored], list[str]]:
    """The results that the gradebook has too, and where the notebooks of the others were.

    A result outlives its notebook, in case that comes back; what is exported has to equal the gradebook. That
    of a run which did not come to its end is older than the results, and decides nothing.
    """
    try:
        text = (results / "gradebook.csv").read_text(encoding="utf-8-sig")
        rows = [*csv.DictReader(io.StringIO(text, newline=""))]
        known = {(row["student"], row["assignment"]) for row in rows if row["status"] in _STATUSES}
    except (OSError, ValueError, KeyError, csv.Error):
        return [*stored], []
    if was_stopped(results):
        return [*stored], []
    kept: list[Stored] = []
    gone: list[str] = []
    for one in stored:
        if (without_formula(one.student), without_formula(one.assignment or one.notebook)) in known:
            kept.append(one)
        else:
            gone.append(one.notebook)
    return kept, gone


def _read(path: Path) -> Stored:
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise GraderError(f"{path} cannot be read ({error.strerror}): make it readable") from error
    except UnicodeDecodeError:
        _refuse(path, "it is not UTF-8")
    try:
        stored = stored_of(json.loads(content), path.stem)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        _refuse(path, f"{type(error).__name__}: {str(error)[:80]}")
    if stored.student != path.parent.name:
        _refuse(path, f"it is a result of {stored.student!r}")
    return stored


def _refuse(path: Path, reason: str) -> NoReturn:
    raise GraderError(f"{path} is not a result of this grader ({reason}): delete it and run grade again")


def stored_of(result: Result, name: str) -> Stored:
    """The parts of a result that other systems can hold.

    Raises:
        KeyError, TypeError, ValueError: it has not the form of a result.
    """
    if result["schema"] != SCHEMA:
        raise ValueError(f"its schema is {result['schema']!r}")
    _one_of(result["status"], _STATUSES)
    student, error = _text(result["student"]), result["error"]
    if file_name(student) != student:
        raise ValueError("the student's name is no name of a folder")
    assignment = result["assignment"]
    if assignment is not None and assignment != name:
        raise ValueError(f"it is a result of {assignment!r}")
    return Stored(
        student,
        name,
        assignment,
        _text(result["notebook"]),
        None if error is None else _text(error),
        _points(result["score"]),
        _points(result["max_score"]),
        tuple(map(_answer, result["questions"])),
        _text(result["provenance"].get("graded_at") or ""),
    )


def _answer(question: dict[str, Any]) -> StoredAnswer:
    return StoredAnswer(
        _text(question["id"]),
        _text(question["title"]),
        _one_of(question["status"], _ANSWERED),
        _points(question["score"]),
        _points(question["max_score"]),
        tuple(map(_checked, question["checks"])),
    )


def _checked(check: dict[str, Any]) -> StoredCheck:
    message, hint = check["message"], check["hint"]
    return StoredCheck(
        _text(check["id"]),
        _text(check["title"]),
        _one_of(check["outcome"], _OUTCOMES),
        _points(check["points"]),
        _points(check["max_points"]),
        None if message is None else _text(message),
        None if hint is None else _text(hint),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _one_of(value: Any, known: set[str]) -> str:
    if value not in known:
        raise ValueError(f"{value!r} is none of {', '.join(sorted(known))}")
    return _text(value)


def _points(value: Any) -> float:
    """A number of points; JSON of Python's knows NaN, which no other system understands."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{value!r} are no points")
    return value


def was_stopped(results: Path) -> bool:
    """Whether the last run of ``grade`` has not come to its end."""
    return read_run(results).get("finished") is False
