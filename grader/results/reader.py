"""Reads results strictly: from JSON and, for other systems, all results of a folder.

A file that is no result is refused, and not left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from grader.errors import GraderError
from grader.results.gradebook import read_gradebook
from grader.results.model import SCHEMA, Result
from grader.text import file_name, without_formula


def read_results(results: Path) -> list[Result]:
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


def still_handed_in(stored: Sequence[Result], results: Path) -> tuple[list[Result], list[str]]:
    """The results that the gradebook has too, and where the notebooks of the others were.

    A result outlives its notebook, in case that comes back; what is exported has to equal the gradebook. The
    gradebook of a run that was stopped is older than the results, and decides nothing.
    """
    try:
        lines = read_gradebook((results / "gradebook.csv").read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return [*stored], []
    if was_stopped(results):
        return [*stored], []
    kept: list[Result] = []
    gone: list[str] = []
    for result in stored:
        line = lines.get((without_formula(result.student), without_formula(result.what)))
        if line is not None and line["status"] in {"graded", "error"}:
            kept.append(result)
        else:
            gone.append(result.notebook)
    return kept, gone


def _read(path: Path) -> Result:
    try:
        stored = result_from_json(msgspec.json.decode(path.read_bytes()), path.stem)
    except OSError as error:
        raise GraderError(f"{path} cannot be read ({error.strerror}): make it readable") from error
    except (ValueError, RecursionError) as error:
        _refuse(path, str(error)[:100])
    if stored.student != path.parent.name:
        _refuse(path, f"it is a result of {stored.student!r}")
    return stored


def _refuse(path: Path, reason: str) -> NoReturn:
    raise GraderError(f"{path} is not a result of this grader ({reason}): delete it and run grade again")


def read_run(folder: Path) -> dict[str, Any]:
    """What a results folder says of its last run; empty where it says nothing that can be read."""
    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return run if isinstance(run, dict) else {}


def was_stopped(results: Path) -> bool:
    """Whether the last run of ``grade`` has not come to its end."""
    return read_run(results).get("finished") is False


def result_from_json(stored: Any, name: str) -> Result:
    """Read a stored result from its JSON, decoded.

    Args:
        name: of its file, without the suffix.

    Raises:
        ValueError: it has not the form of a result; the text says where.
    """
    if not isinstance(stored, dict) or stored.get("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    result = msgspec.convert({**stored, "name": name}, Result)
    if file_name(result.student) != result.student:
        raise ValueError("the student's name is no name of a folder")
    if result.assignment not in {None, name}:
        raise ValueError(f"it is a result of {result.assignment!r}")
    if min(_points(result)) < 0:
        raise ValueError("points are negative")
    return result


def _points(result: Result) -> Iterator[float]:
    yield from (result.score, result.max_score)
    for question in result.all_questions:
        yield from (question.score, question.max_score)
        for check in question.checks:
            yield from (check.points, check.max_points)
