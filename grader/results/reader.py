"""Reads results strictly: from JSON and, for other systems, all results of a folder.

A file that is no result is refused, and not left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from grader.checks.failed_cell import LEFT_OUT, RAISED, STOPPED, FailedCell
from grader.errors import GraderError
from grader.results.gradebook import read_gradebook
from grader.results.model import SCHEMA, CheckResult, Flag, Provenance, QuestionResult, Result
from grader.sandbox.evidence import Failure
from grader.text import file_name, without_formula

_STATUSES = {"graded", "error"}
_ANSWERED = {"answered", "untouched", "missing"}
_OUTCOMES = {"passed", "failed", "error"}


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
        if line is not None and line["status"] in _STATUSES:
            kept.append(result)
        else:
            gone.append(result.notebook)
    return kept, gone


def _read(path: Path) -> Result:
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise GraderError(f"{path} cannot be read ({error.strerror}): make it readable") from error
    except UnicodeDecodeError:
        _refuse(path, "it is not UTF-8")
    try:
        stored = result_from_json(json.loads(content), path.stem)
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


def result_from_json(
    stored: Any, name: str, shared: dict[QuestionResult, QuestionResult] | None = None
) -> Result:
    """Read a stored result from its JSON, decoded.

    Args:
        name: of its file, without the suffix.
        shared: questions of other results, so that equal questions are kept once; it grows.

    Raises:
        ValueError: it has not the form of a result; the text says where.
    """
    try:
        return _result(stored, name, {} if shared is None else shared)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{type(error).__name__}: {str(error)[:80]}") from error


def _result(stored: Mapping[str, Any], name: str, shared: dict[QuestionResult, QuestionResult]) -> Result:
    if stored["schema"] != SCHEMA:
        raise ValueError(f"its schema is {stored['schema']!r}")
    student, assignment = _text(stored["student"]), _text_or_none(stored["assignment"])
    if file_name(student) != student:
        raise ValueError("the student's name is no name of a folder")
    if assignment is not None and assignment != name:
        raise ValueError(f"it is a result of {assignment!r}")
    end_task = stored.get("end_task")  # results of before know none
    return Result(
        name,
        student,
        assignment,
        _text(stored["notebook"]),
        tuple(map(_text, stored["superseded"])),
        _one_of(stored["status"], _STATUSES),
        _text_or_none(stored["error"]),
        _points(stored["score"]),
        _points(stored["max_score"]),
        tuple(Flag(_text(flag["what"]), _number_or_none(flag["cell"])) for flag in stored["flags"]),
        tuple(_question(question, shared) for question in stored["questions"]),
        _question(end_task, shared) if end_task else None,
        tuple(map(_cell, stored.get("cells", ()))),
        _provenance(stored["provenance"]),
    )


def _question(stored: Mapping[str, Any], shared: dict[QuestionResult, QuestionResult]) -> QuestionResult:
    question = QuestionResult(
        _text(stored["id"]),
        _text(stored["title"]),
        _text(stored["function"]),
        _one_of(stored["status"], _ANSWERED),
        _points(stored["score"]),
        _points(stored["max_score"]),
        tuple(map(_check, stored["checks"])),
        _text_or_none(stored.get("afterword")),
    )
    return shared.setdefault(question, question)


def _check(stored: Mapping[str, Any]) -> CheckResult:
    failure = stored.get("failure")
    return CheckResult(
        _text(stored["id"]),
        _text(stored["title"]),
        _one_of(stored["outcome"], _OUTCOMES),
        _points(stored["points"]),
        _points(stored["max_points"]),
        _text_or_none(stored["message"]),
        _text_or_none(stored["hint"]),
        None if failure is None else Failure(failure),
    )


def _cell(stored: Mapping[str, Any]) -> FailedCell:
    number, ended = _number_or_none(stored["cell"]), _one_of(stored["ended"], {RAISED, STOPPED, LEFT_OUT})
    if number is None:
        raise TypeError("a cell has no number")
    return FailedCell(number, ended, _text(stored["text"]))


def _provenance(stored: Mapping[str, Any]) -> Provenance:
    return Provenance(**{name: _text_or_none(stored.get(name)) for name in Provenance.__slots__})


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _number_or_none(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise TypeError(f"{value!r} is no number of a cell")
    return value


def _one_of(value: Any, allowed: Collection[str]) -> str:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {', '.join(sorted(allowed))}")
    return _text(value)


def _points(value: Any) -> float:
    """A number of points; JSON of Python's knows NaN, which no other system understands."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{value!r} are no points")
    return value
