"""All results of a folder, for other systems; a file that is no result is refused, and not left out."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from grader.errors import GraderError
from grader.results.model import Result
from grader.results.store import read_run
from grader.text import without_formula

_STATUSES = {"graded", "error"}  # of lines of the gradebook that have a result


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
    kept: list[Result] = []
    gone: list[str] = []
    for one in stored:
        if (without_formula(one.student), without_formula(one.what)) in known:
            kept.append(one)
        else:
            gone.append(one.notebook)
    return kept, gone


def _read(path: Path) -> Result:
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise GraderError(f"{path} cannot be read ({error.strerror}): make it readable") from error
    except UnicodeDecodeError:
        _refuse(path, "it is not UTF-8")
    try:
        stored = Result.from_json(json.loads(content), path.stem)
    except (ValueError, RecursionError) as error:
        _refuse(path, str(error)[:100])
    if stored.student != path.parent.name:
        _refuse(path, f"it is a result of {stored.student!r}")
    return stored


def _refuse(path: Path, reason: str) -> NoReturn:
    raise GraderError(f"{path} is not a result of this grader ({reason}): delete it and run grade again")


def was_stopped(results: Path) -> bool:
    """Whether the last run of ``grade`` has not come to its end."""
    return read_run(results).get("finished") is False
