"""The settings of a course: ``course.toml``, which is optional."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from grader.errors import CourseError
from grader.sandbox.plan import TimeLimits
from grader.text import did_you_mean

FILE_NAME = "course.toml"

#: The least and the largest number that an entry may be; None for one that is true or false.
Bounds = tuple[float, float] | None
_SHARE, _SECONDS, _POINTS = (0.0, 1.0), (0.1, 86_400.0), (0.01, 10_000.0)

#: The ids of the questions of every assignment, by its stem; None where they are unknown.
Questions = Mapping[str, Collection[str] | None]


@dataclass(frozen=True)
class Feedback:
    """What students see besides titles, outcomes and points.

    Attributes:
        diagnoses: what was found, and the student's own code with the lines marked that a diagnosis quotes.
        xrays: pictures of autograd graphs.
    """

    diagnoses: bool = True
    hints: bool = True
    xrays: bool = True


@dataclass(frozen=True)
class Settings:
    """An instructor's choices for a course.

    Attributes:
        partial_credit: the largest part of its points that a question with a failed check can earn, 0 to 1.
        points: of questions, by stem and id; else the sum of their checks' points.
        limits: seconds for a cell, a question and a notebook, unless the command sets others.
        feedback: what students see.
    """

    partial_credit: float = 0.5
    points: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    limits: TimeLimits = field(default_factory=TimeLimits)
    feedback: Feedback = field(default_factory=Feedback)


def read_settings(path: Path, questions: Callable[[], Questions]) -> Settings:
    """Read a ``course.toml``; without the file, the defaults. `questions` is called if the file sets points.

    Raises:
        CourseError: the file cannot be read, or has an entry or a value that is not allowed.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        tables = tomllib.loads(text)
        content = dict(_entries(tables))
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise CourseError(f"{path} cannot be read ({error.strerror}): mend or remove it") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise CourseError(f"{path} is not UTF-8 (line {line}): save it as UTF-8") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a ValueError only
        reason = "its values are nested too deeply" if isinstance(error, RecursionError) else error
        raise CourseError(f"{path} is not TOML: {reason}. Mend that place, or remove the file") from error
    sets_points = any(key.startswith("points.") for key in content)
    allowed = _allowed(questions() if sets_points else {}, content)
    sections = {key.rpartition(".")[0] for key in allowed} | {"points"}
    for key, value in content.items():
        complaint = None
        if key in allowed:
            complaint = _complaint(key, value, allowed[key])
        elif key in sections and value != {}:
            complaint = f"{key} is {value!r}, but has to be a section, [{key}]"
        elif key not in sections:
            complaint = f"{key!r} means nothing here: {did_you_mean(key, sections | allowed.keys())}"
        if complaint:
            raise CourseError(f"{path}{_line_of(key, text)}: {complaint}")
    import msgspec  # noqa: PLC0415 - an instructor's library; students' commands import `Feedback` from here

    return msgspec.convert(tables.pop("score", {}) | tables, Settings)  # a whole number becomes a float


def _entries(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The entries of a table and of those in it by their full names, as in ``limits.cell``."""
    for name, value in table.items():
        if isinstance(value, dict) and value:
            yield from _entries(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _allowed(questions: Questions, content: Collection[str]) -> dict[str, Bounds]:
    """What may stand in the file; `content` has the names of what does, for questions that are not known."""
    allowed: dict[str, Bounds] = {"score.partial_credit": _SHARE}
    allowed |= {f"limits.{limit.name}": _SECONDS for limit in fields(TimeLimits)}
    allowed |= {f"feedback.{shown.name}": None for shown in fields(Feedback)}
    for stem, ids in questions.items():
        given = [key for key in content if key.startswith(f"points.{stem}.")]
        known = given if ids is None else [f"points.{stem}.{question}" for question in ids]
        allowed |= dict.fromkeys(known, _POINTS)
    return allowed


def _complaint(key: str, value: object, bounds: Bounds) -> str | None:
    """What is wrong with the value of an entry, if anything."""
    if bounds is None:
        is_allowed, wanted = type(value) is bool, "true or false"
    else:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_allowed = is_number and bounds[0] <= value <= bounds[1]  # type: ignore[operator]
        wanted = f"a number from {bounds[0]:g} to {bounds[1]:g}"
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    cut = shown if len(shown) <= 60 else f"{shown[:60]}…"
    return None if is_allowed else f"{key} is {cut}, but has to be {wanted}"


def _line_of(key: str, text: str) -> str:
    """``, line 3`` for an entry that stands below its section's head, as most entries do; else nothing."""
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        plain = re.sub(r"[\s\"']", "", line)
        if head := re.match(r"\[([^][]+)\]", plain):
            section = head[1]
        entry = plain.partition("=")[0] if "=" in plain and head is None else ""
        name = f"{section}.{entry}".strip(".") if entry or head else ""
        if name == key or (name and name.startswith(f"{key}.")):
            return f", line {number}"
    return ""
