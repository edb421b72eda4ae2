"""Where and why an author's file broke, and which observations it could have asked for instead.

``seen["gradient"]`` raises ``KeyError: 'gradient'``, which names neither ``seen`` nor its keys. Python keeps
the position of the failed expression; its operands are looked up once more, and nothing is called.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

from grader.contracts.cases import Case
from grader.course.author_file import not_python
from grader.errors import CourseError
from grader.sandbox.values import Other, Raised, Tensor
from grader.text import did_you_mean, printable, some

_MAX_NAMES = 8
_LOOKUPS = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.expr_context)
_IMPORTED = re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'")
_FIELDS = [field.name for field in fields(Tensor) if field.compare]  # fields that a check may read


@dataclass(frozen=True)
class Cause:
    """Why an author's file broke, and the line, as in ``tests/hidden/test_01_leaves.py, line 7``, or ""."""

    line: str
    message: str

    def __str__(self) -> str:
        return f"{self.line}: {self.message}" if self.line else self.message


def cause_of(error: BaseException, folder: Path) -> Cause:
    """The cause of an error, at the last line in a file of `folder`, the author's, that it passed through."""
    text = str(error) or "no text"
    if isinstance(error, CourseError) and text.startswith(str(folder)):  # it names file and line
        return Cause("", text)
    if isinstance(error, SyntaxError) and Path(error.filename or "").parent == folder:
        return Cause(f"{error.filename}, line {error.lineno}", not_python(error))
    message = text if isinstance(error, AssertionError | CourseError) else f"{type(error).__name__}: {text}"
    entry = last_entry(error, folder)
    if entry is None:
        return Cause("", message)
    available = available_observations(error, folder)
    line = f"{entry.tb_frame.f_code.co_filename}, line {entry.tb_lineno}"
    return Cause(line, f"{message}; {available}" if available else message)


def last_entry(error: BaseException, folder: Path) -> TracebackType | None:
    """The last entry of a traceback that lies in a file of this folder."""
    last, entry = None, error.__traceback__
    while entry is not None:
        if Path(entry.tb_frame.f_code.co_filename).parent == folder:
            last = entry
        entry = entry.tb_next
    return last


def statement_of(entry: TracebackType) -> int:
    """The number of the statement in its function at which a traceback's entry is; 0 if it is unknown.

    A docstring is no statement, so that an edit of texts changes no number.
    """
    code = entry.tb_frame.f_code
    path = Path(code.co_filename)
    for first, last, numbers in _statements(path, path.stat().st_mtime_ns).get(code.co_name, ()):
        if first <= entry.tb_lineno <= last:
            return numbers
    return 0


@lru_cache(maxsize=64)
def _statements(path: Path, _: int) -> dict[str, list[tuple[int, int, int]]]:
    """The first and the last line of each statement of a file's functions, and its number there, from 1."""
    return {
        function.name: [
            (statement.lineno, statement.end_lineno or statement.lineno, number)
            for number, statement in enumerate((one for one in function.body if not _is_text(one)), 1)
        ]
        for function in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(function, ast.FunctionDef)
    }


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def available_observations(error: BaseException, folder: Path) -> str:
    """A clause such as ``doubled.seen has penalty, gradients``; empty if nothing is certain."""
    entry = last_entry(error, folder)
    if entry is None or isinstance(error, AssertionError | CourseError):
        return ""
    frame = entry.tb_frame
    if isinstance(error, NameError) and error.name:
        meant = did_you_mean(error.name, {*frame.f_locals, *frame.f_globals, *dir(builtins)})
        return meant if meant.endswith("?") else ""
    missing = _IMPORTED.match(str(error)) if isinstance(error, ImportError) else None
    if missing:
        module = sys.modules.get(missing["module"])
        offered = {*dir(module), *getattr(module, "__all__", ())}  # `grader` imports its words when asked
        return did_you_mean(missing["name"], {name for name in offered if not name.startswith("_")})
    operands = _failed_operands(error, entry)
    for operand in operands:
        if all(isinstance(node, _LOOKUPS) for node in ast.walk(operand)):  # nothing is called once more
            text = ast.unparse(operand)
            with suppress(Exception):  # a lookup may fail in any way
                value = eval(text, frame.f_globals, frame.f_locals)  # noqa: S307 - the author's own code
                if clause := _clause(text, value, error, len(operands)):
                    return clause
    return ""


def _failed_operands(error: BaseException, entry: TracebackType) -> list[ast.expr]:
    try:
        text = Path(entry.tb_frame.f_code.co_filename).read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError):
        return []
    position = [*entry.tb_frame.f_code.co_positions()][entry.tb_lasti // 2]
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(error, ValueError):
            if any(_position(target) == position for target in node.targets):
                return [node.value]
        elif isinstance(node, ast.expr) and _position(node) == position:
            return _operands(node)
    return []


def _position(node: ast.expr) -> tuple[int | None, ...]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _operands(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.Subscript(value) | ast.Attribute(value) | ast.UnaryOp(_, value):
            return [value]
        case ast.BinOp(left, _, right):
            return [left, right]
        case ast.Compare(left, _, others):
            return [left, *others]
        case ast.Call(_, arguments):
            return arguments
        case ast.ListComp(_, [first, *_]) | ast.SetComp(_, [first, *_]) | ast.GeneratorExp(_, [first, *_]):
            return [first.iter]
    return [node]


def _clause(text: str, value: Any, error: BaseException, operands: int) -> str:
    """A clause about an operand; empty if it cannot be the cause."""
    match value:
        case Case():
            clause = f"{text} has seen and expected"
        case None:
            clause = f"{text} is None here: assert first that it is not, with a message"
        case Tensor():
            asked = getattr(error, "name", None)
            near = did_you_mean(asked, _FIELDS) if isinstance(asked, str) else ""
            clause = f"{text} is a tensor, {near or f'whose numbers are in {text}.value'}"
        case Raised() as caught:
            kind = printable(caught.type)
            clause = f"{text} is an error that attempt caught, a {kind}: ask for it with raised(...)"
        case Other(kind):
            clause = f"{text} is an object of the class {printable(kind)}, which has no observations"
        case dict() as entries if operands == 1:
            clause = _clause_about_dict(text, entries, error)
        case list() | tuple() as entries if operands == 1:
            clause = f"{text} is a {type(entries).__name__} of {len(entries)}"
        case _:
            clause = ""
    return clause


def _clause_about_dict(text: str, value: dict[str, Any], error: BaseException) -> str:
    name = getattr(error, "name", None)
    if name in value:
        return f"{text} is a dict: write {text}[{name!r}]"
    asked = name if isinstance(name, str) else next(iter(error.args), "")
    if len(value) > _MAX_NAMES and isinstance(asked, str):
        return f"{text} has {len(value)} entries, {did_you_mean(asked, value)}"
    return f"{text} has {', '.join(some((printable(str(key)) for key in value), _MAX_NAMES)) or 'no entries'}"
