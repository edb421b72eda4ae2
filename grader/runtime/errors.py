"""Describe exceptions by class names, text and location, bypassing everything a student's class overrides."""

from __future__ import annotations

from types import FrameType, TracebackType
from typing import Any

from .originals import (
    builtins_copy,
    class_dict_of,
    error_args_of,
    mro_of,
    raw_class_name,
    syntax_error_file,
    syntax_error_line,
    traceback_of,
)

__builtins__ = builtins_copy()

MAX_TEXT = 2_000
MAX_LINE = 200  # characters of a line that is quoted

_SYNTAX_ERRORS = (SyntaxError, IndentationError, TabError)


def describe_error(error: BaseException) -> dict[str, Any]:
    """An exception as its class names, its text, and the line of the notebook it came from.

    If it came through code of the check file, its last line there is reported too, for the author.
    """
    file, number, function = _location(error)
    types = [class_name(kind) for kind in mro_of(type(error)) if kind is not object]
    inside = innermost(error, "<inside>")
    return ({"inside": inside.tb_lineno or 0} if inside else {}) | {
        "types": types[:50],
        "text": error_text(error),
        "where": printable(f"{file[1:-1]}, line {number}"[:80]) if file else "",
        "function": printable(function[:MAX_LINE]),
        "line": _line(file, number),
    }


_sources: dict[str, list[str]] = {}  # lines of the notebook's cells, by the file name their code carries
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_NAMED = {"<module>": "", "<lambda>": "a lambda"}


def remember_source(file: str, text: str) -> None:
    """Keep the text of a cell, so that the line of an error can be quoted."""
    _sources[file] = text.split("\n")


def _line(file: str, number: int) -> str:
    lines = _sources.get(file, [])
    return printable(lines[number - 1].strip()[:MAX_LINE]) if 0 < number <= len(lines) else ""


def _location(error: BaseException) -> tuple[str, int, str]:
    """The cell's file, the line and the function where the notebook raised, or where it does not parse."""
    trace = innermost(error)
    if trace is not None:
        code = trace.tb_frame.f_code
        return code.co_filename, trace.tb_lineno, function_of(trace.tb_frame)
    if type(error) in _SYNTAX_ERRORS:
        file, number = syntax_error_file(error), syntax_error_line(error)
        if type(file) is str and type(number) is int and file.startswith("<cell "):
            return file, number, ""
    return "", 0, ""


def function_of(frame: FrameType | None) -> str:
    """The function a frame belongs to; a comprehension is part of the function around it."""
    while frame is not None and frame.f_code.co_name in _COMPREHENSIONS:
        frame = frame.f_back
    name = "<module>" if frame is None else frame.f_code.co_name
    return _NAMED.get(name, name)


def innermost(error: BaseException, beginning: str = "<cell ") -> TracebackType | None:
    """The last entry of a traceback that lies in the notebook, or in files that begin otherwise."""
    last, trace = None, traceback_of(error)
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(beginning):
            last = trace
        trace = trace.tb_next
    return last


def error_text(error: BaseException) -> str:
    """``str(error)``, bounded; where the class is the student's, only the text it was given."""
    if class_dict_of(type(error)).get("__module__") == "__main__":
        texts = [argument[:MAX_TEXT] for argument in error_args_of(error)[:10] if type(argument) is str]
        return printable(", ".join(texts)[:MAX_TEXT])
    try:
        return printable(str.__str__(str(error))[:MAX_TEXT])
    except BaseException:
        return ""


def class_name(kind: type) -> str:
    """A class's own name, read past any metaclass of the student's."""
    return printable(raw_class_name(kind)[:100])


def printable(text: str) -> str:
    """Text that survives UTF-8 on the wire."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
