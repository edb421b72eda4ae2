"""The settings of a course: ``course.toml``, which is optional."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from grader.errors import CourseError
from grader.sandbox.plan import TimeLimits

FILE_NAME = "course.toml"

_SECONDS = (0.1, 86_400.0)
_POINTS = (0.01, 10_000.0)

#: The ids of the questions of every assignment, by its stem; None where they are unknown.
Questions = Mapping[str, Collection[str] | None]


@dataclass(frozen=True)
class Feedback:
    """What students see besides titles, outcomes and points: `xrays` are pictures of autograd graphs."""

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
        content = tomllib.loads(text)
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
    return _settings(_Table(path, "", content, text), questions)


def _settings(file: _Table, questions: Callable[[], Questions]) -> Settings:
    file.allow("score", "points", "limits", "feedback")
    score, limits, feedback = file.table("score"), file.table("limits"), file.table("feedback")
    score.allow("partial_credit")
    limits.allow(*(limit.name for limit in fields(TimeLimits)))
    feedback.allow(*(shown.name for shown in fields(Feedback)))
    return Settings(
        partial_credit=score.number("partial_credit", 0.0, 1.0, Settings.partial_credit),
        points=_points(file.table("points"), questions),
        limits=TimeLimits(**{key: limits.number(key, *_SECONDS) for key in limits.content}),
        feedback=Feedback(**{key: feedback.switch(key) for key in feedback.content}),
    )


def _points(table: _Table, questions: Callable[[], Questions]) -> dict[str, dict[str, float]]:
    if not table.content:
        return {}
    by_stem = questions()
    table.allow(*by_stem)
    points: dict[str, dict[str, float]] = {}
    for stem in table.content:
        of_stem, ids = table.table(stem), by_stem[stem]
        of_stem.allow(*(of_stem.content if ids is None else ids))
        points[stem] = {question: of_stem.number(question, *_POINTS) for question in of_stem.content}
    return points


def _plain(name: str) -> str:
    """The name of a section or an entry, without blanks and quotes."""
    return re.sub(r"[\s\"']", "", name)


@dataclass(frozen=True)
class _Table:
    """A table of the file, which checks each entry as it is read.

    Its name is such as ``points.01_leaves``, empty for the whole file; `text` is that of the whole file.
    """

    path: Path
    name: str
    content: Mapping[str, Any]
    text: str

    def allow(self, *keys: str) -> None:
        """Refuse unknown keys, such as misspelt ones."""
        for key in self.content:
            if key not in keys:
                near = get_close_matches(key, keys, n=1, cutoff=0.5)
                advice = f"; did you mean {near[0]}?" if near else ": remove it"
                allowed = f"here may be {', '.join(keys)}" if keys else "nothing may be here"
                where, name = self._where(key), self._full_name(key)
                raise CourseError(f"{where}: {name!r} means nothing ({allowed}){advice}")

    def table(self, key: str) -> _Table:
        """The table below a key, empty where there is none."""
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            raise self._refused(key, value, f"a section, [{self._full_name(key)}]")
        return _Table(self.path, self._full_name(key), value, self.text)

    def number(self, key: str, least: float, most: float, default: float = math.nan) -> float:
        """The number of a key, within its bounds."""
        value = self.content.get(key, default)
        if type(value) not in (int, float) or not least <= value <= most:  # a bool is no number here
            raise self._refused(key, value, f"a number from {least:g} to {most:g}")
        return float(value)

    def switch(self, key: str) -> bool:
        """The value of a key, true or false."""
        value = self.content[key]
        if type(value) is not bool:
            raise self._refused(key, value, "true or false")
        return value

    def _full_name(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def _where(self, key: str) -> str:
        """The file, and the line of an entry if it stands below its section's head, as most entries do."""
        section, wanted = "", self._full_name(key)
        for number, line in enumerate(self.text.splitlines(), start=1):
            head = re.match(r"\s*\[([^][]+)\]", line)
            entry = re.match(r"\s*([^=#]+?)\s*=", line)
            if head:
                section = _plain(head[1])
            name = section if head else ".".join(filter(None, [section, _plain(entry[1])])) if entry else ""
            if name == wanted or name.startswith(f"{wanted}."):
                return f"{self.path}, line {number}"
        return str(self.path)

    def _refused(self, key: str, value: object, allowed: str) -> CourseError:
        shown = str(value).lower() if isinstance(value, bool) else repr(value)
        cut = shown if len(shown) <= 60 else f"{shown[:60]}…"
        return CourseError(f"{self._where(key)}: {self._full_name(key)} is {cut}, but has to be {allowed}")
