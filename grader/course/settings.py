"""The settings of a course: ``course.toml``, which is optional."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from grader.errors import CourseError
from grader.sandbox.plan import TimeLimits
from grader.text import did_you_mean

FILE_NAME = "course.toml"

#: Whether an entry may have a value, and the end of a sentence that says what it has to be.
Rule = tuple[Callable[[object], bool], str]


def _number(least: float, most: float) -> Rule:
    def is_allowed(value: object) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most

    return is_allowed, f"a number from {least:g} to {most:g}"


def _is_zone(value: object) -> bool:
    try:
        return isinstance(value, str) and ZoneInfo(value) is not None
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return False


_SHARE, _SECONDS, _POINTS = _number(0, 1), _number(0.1, 86_400), _number(0.01, 10_000)
_MINUTES = _number(0, 100_000)
_YES_OR_NO: Rule = (lambda value: isinstance(value, bool), "true or false")
_TIME: Rule = (lambda value: isinstance(value, datetime), "a day and a time, as 2026-10-12T23:59:00")
_VISIBILITIES = ("visible", "hidden", "after_due_date", "after_published")  # Gradescope's words
_VISIBILITY: Rule = (lambda value: value in _VISIBILITIES, f"one of {', '.join(_VISIBILITIES)}")
_ZONE: Rule = (_is_zone, 'the name of a time zone, as "Europe/Zurich"')

#: The ids of the questions of every assignment, by its stem; None if they are unknown.
Questions = Mapping[str, Collection[str] | None]


@dataclass(frozen=True)
class Feedback:
    """The parts of feedback that students see besides titles, outcomes and points.

    Attributes:
        diagnoses: the findings, and the student's own code, in which quoted lines are marked.
        xrays: pictures of autograd graphs.
    """

    diagnoses: bool = True
    hints: bool = True
    xrays: bool = True


@dataclass(frozen=True)
class Deadline:
    """The deadline of an assignment, and the penalty for late work.

    Attributes:
        due: with its time zone.
        grace_minutes: within which nothing is taken.
        penalty_per_day: the part of the assignment's points, 0 to 1, that each day takes, the first begun one
            included.
        most_penalty: the largest part that is taken.
        in_time_first: whether the last version in time counts before any that came later.
    """

    due: datetime
    grace_minutes: float = 0.0
    penalty_per_day: float = 0.0
    most_penalty: float = 1.0
    in_time_first: bool = False

    @property
    def closes(self) -> datetime:
        """Until when a version is in time, with the grace."""
        return self.due + timedelta(minutes=self.grace_minutes)


@dataclass(frozen=True)
class Settings:
    """An instructor's choices for a course.

    Attributes:
        partial_credit: the largest part of its points that a question with a failed check can earn, 0 to 1.
        points: of questions, by stem and id; else the sum of their checks' points.
        limits: seconds for a cell, a question and a notebook, unless the command sets others.
        feedback: the parts of feedback that students see.
        assignments: of this term; empty for all of the course.
        time_zone: of times that name none.
        deadlines: by stem.
        visibility: of Gradescope's tests and scores, in its words.
    """

    partial_credit: float = 0.5
    points: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    limits: TimeLimits = field(default_factory=TimeLimits)
    feedback: Feedback = field(default_factory=Feedback)
    assignments: tuple[str, ...] = ()
    time_zone: str | None = None
    deadlines: Mapping[str, Deadline] = field(default_factory=dict)
    visibility: str = "visible"


def read_settings(path: Path, questions: Callable[[], Questions]) -> Settings:
    """Read a ``course.toml``; without the file, the defaults. `questions` is called if the file names stems.

    Raises:
        CourseError: the file cannot be read, or has an entry or a value that is not allowed.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise CourseError(f"{path} cannot be read ({error.strerror}): fix or remove it") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise CourseError(f"{path}, line {line} is not UTF-8: save it as UTF-8") from error
    tables, content = _parsed(path, text)
    names_stems = any(key.startswith(("points.", "term.", "deadlines.")) for key in content)
    allowed = _allowed(questions() if names_stems else {}, content)
    sections = {key.rpartition(".")[0] for key in allowed} | {"points", "deadlines"}
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
    for stem, deadline in tables.get("deadlines", {}).items():
        _add_zone(path, text, stem, deadline, tables.get("term", {}).get("time_zone"))
    import msgspec  # noqa: PLC0415 - an instructor's library; students' commands import `Feedback` from here

    of_others = [tables.pop(section, {}) for section in ("score", "term", "gradescope")]
    whole = {name: value for table in (*of_others, tables) for name, value in table.items()}
    return msgspec.convert(whole, Settings)  # a whole number becomes a float


def _parsed(path: Path, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tables of a file, and its entries by their full names."""
    try:
        tables = tomllib.loads(text)
        return tables, dict(_entries(tables))
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a ValueError only
        reason = "its values are nested too deeply" if isinstance(error, RecursionError) else error
        at, lines = re.search(r"at line (\d+)", str(error)), text.splitlines()
        number = int(at[1]) if at else len(lines)
        is_due = lines[number - 1].lstrip().startswith("due")
        form = " (a time is written as due = 2026-10-12T23:59:00)" if is_due else ""
        raise CourseError(
            f"{path}, line {number} is not TOML: {reason}. Fix that line{form}, or remove the file"
        ) from error


def _add_zone(path: Path, text: str, stem: str, deadline: dict[str, Any], zone: str | None) -> None:
    """Give a deadline the term's time zone where it names none; CourseError if it has none, or no time."""
    if "due" not in deadline:
        where = _line_of(f"deadlines.{stem}", text)
        raise CourseError(
            f"{path}{where}: deadlines.{stem} says no time: add a line as due = 2026-10-12T23:59:00"
        )
    if deadline["due"].tzinfo is None and zone is None:
        where = _line_of(f"deadlines.{stem}.due", text)
        raise CourseError(
            f'{path}{where}: deadlines.{stem}.due has no time zone: write time_zone, as "Europe/Zurich",'
            f" below [term], or {deadline['due'].isoformat()}+02:00 here"
        )
    if deadline["due"].tzinfo is None:
        deadline["due"] = deadline["due"].replace(tzinfo=ZoneInfo(str(zone)))


def _entries(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The entries of a table and of those in it by their full names, as in ``limits.cell``."""
    for name, value in table.items():
        if isinstance(value, dict) and value:
            yield from _entries(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _allowed(questions: Questions, content: Collection[str]) -> dict[str, Rule]:
    """The entries that the file may have; `content` has its present names, for unknown questions."""
    allowed: dict[str, Rule] = {"score.partial_credit": _SHARE, "term.time_zone": _ZONE}
    allowed["gradescope.visibility"] = _VISIBILITY
    allowed["term.assignments"] = _stems(questions)
    allowed |= {f"limits.{limit.name}": _SECONDS for limit in fields(TimeLimits)}
    allowed |= {f"feedback.{shown.name}": _YES_OR_NO for shown in fields(Feedback)}
    for stem, ids in questions.items():
        allowed |= {f"deadlines.{stem}.due": _TIME, f"deadlines.{stem}.grace_minutes": _MINUTES}
        allowed[f"deadlines.{stem}.in_time_first"] = _YES_OR_NO
        allowed |= {f"deadlines.{stem}.{name}": _SHARE for name in ("penalty_per_day", "most_penalty")}
        given = [key for key in content if key.startswith(f"points.{stem}.")]
        known = given if ids is None else [f"points.{stem}.{question}" for question in ids]
        allowed |= dict.fromkeys(known, _POINTS)
    return allowed


def _stems(questions: Collection[str]) -> Rule:
    def is_allowed(value: object) -> bool:
        return isinstance(value, list) and all(stem in questions for stem in value)

    return is_allowed, f'a list of assignments, as ["{min(questions, default="01_leaves")}"]'


def _complaint(key: str, value: object, rule: Rule) -> str | None:
    """The problem with the value of an entry, if there is one."""
    is_right, wanted = rule
    is_allowed = is_right(value)
    shown = str(value).lower() if isinstance(value, bool | date | time) else repr(value)
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
