"""Outside: reads a file of an author's as text or as syntax; what cannot be read is told with its line."""

from __future__ import annotations

import ast
from pathlib import Path

from grader.course.unfinished import without_blanks
from grader.errors import CourseError


def read_text(path: Path) -> str:
    """The text of a file of the course, with every line end as Python counts it.

    Raises:
        CourseError: the file cannot be read, or is not UTF-8; the text names the line.
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
        CourseError: the file cannot be read, or is not Python; the text names the line.
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
