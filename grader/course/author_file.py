"""Author's files, read as text or as syntax, and the blanks that `new` put into them.

A blank reads ``[FILL IN: what belongs here]``. In code it is a syntax error on purpose: nothing that still
has a blank runs by accident. An error names file and line.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from grader.errors import CourseError

_BLANK = re.compile(r"\[FILL IN\b:?\s*(?P<wanted>[^]\n]*)\]?")


def read_text(path: Path) -> str:
    """The text of a file of the course, with line ends as Python counts them.

    Raises:
        CourseError: the file cannot be read or is not UTF-8; the text names the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise CourseError(f"{path} is not UTF-8 (line {line}): save it as UTF-8") from error
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}") from error
    if text.startswith("\ufeff"):
        raise CourseError(f"{path} begins with a byte order mark: save it as UTF-8 without one")
    return text


def read_syntax(path: Path) -> ast.Module:
    """The syntax of a Python file of the course, with a name in the place of each blank.

    Raises:
        CourseError: the file cannot be read or is not Python; the text names the line.
    """
    try:
        return ast.parse(without_blanks(read_text(path)), path.name)
    except SyntaxError as error:
        raise CourseError(f"{path}, line {error.lineno}: {not_python(error)}") from error
    except ValueError as error:
        raise CourseError(f"{path} is not Python: {error}") from error


def not_python(error: SyntaxError) -> str:
    """What Python says of a line that it cannot read, and the line."""
    line = (error.text or "").strip()
    return f"this is not valid Python ({error.msg}){f': `{line}`' if line else ''}"


@dataclass(frozen=True)
class Blank:
    """A place that waits for its author: the file, the line counted from 1, and what belongs there."""

    path: Path
    line: int
    wanted: str

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.wanted}"


def has_blank(text: str) -> bool:
    """Whether a text has a blank."""
    return _BLANK.search(text) is not None


def without_blanks(text: str) -> str:
    """The same with a name of its own in the place of each blank, so that it can be parsed; lines stay."""
    numbers = count(1)
    return _BLANK.sub(lambda _: f"FILL_IN_{next(numbers)}", text)


def blanks_in(path: Path) -> list[Blank]:
    """The blanks of a file, in order; none if it cannot be read, which other code complains about."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    return [
        Blank(path, text.count("\n", 0, match.start()) + 1, match["wanted"].strip())
        for match in _BLANK.finditer(text)
    ]
