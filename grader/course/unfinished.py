"""An assignment with blanks: its definitions without blanks, read as if the others were not there.

Each blank is first replaced by a name, so that the file parses. Then each definition that has a blank is left
out, with all definitions that need it. A question whose cell in the master has a blank is left out of
everything, since its answer is unknown.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

from grader.course.assignment import ANSWERS, CHECKS, IDENTITY, MASTER
from grader.course.author_file import (
    Blank,
    Statement,
    blanks_in,
    has_blank,
    read_syntax,
    read_text,
    text_if_readable,
    without,
    without_blanks,
)
from grader.errors import CourseError

_MAX_SHOWN = 3

_CELL = re.compile(r"(?m)^# %%.*$")
_QUESTION_TAG = re.compile(rf'"question ({IDENTITY})"')
_FUNCTION = re.compile(r"(?m)^(?:def|class) (\w+)")


def blanks_of(root: Path, stem: str) -> list[Blank]:
    """The blanks of an assignment: of its master, its hidden checks and its known answers."""
    return [blank for kind in (MASTER, CHECKS, ANSWERS) for blank in blanks_in(root / kind.format(stem))]


def require_finished(root: Path, stem: str) -> None:
    """Refuse an assignment that has blanks; the CourseError names the first of them with file and line."""
    blanks = blanks_of(root, stem)
    if not blanks:
        return
    shown = "".join(f"\n  {blank}" for blank in blanks[:_MAX_SHOWN])
    more = f"\n  and {len(blanks) - _MAX_SHOWN} more" if len(blanks) > _MAX_SHOWN else ""
    count = "one blank" if len(blanks) == 1 else f"{len(blanks)} blanks"
    raise CourseError(
        f"{stem} still has {count}; put your text or code in the place of [FILL IN: ...], brackets"
        f" included:{shown}{more}"
    )


def filled_statements(path: Path) -> list[ast.stmt]:
    """The top-level statements of a file of checks or answers without blanks, with their lines in the file.

    Raises:
        CourseError: the file cannot be read, or is not Python apart from its blanks; the text names the line.
    """
    text, nodes = read_text(path), read_syntax(path).body
    unwritten = {function for function in _questions(path).values() if function is not None}
    if not unwritten and not has_blank(text):
        return nodes
    lines, statements = text.splitlines(), [*map(Statement.of, nodes)]
    left_out = [s for s in statements if has_blank("\n".join(s.lines(lines))) or _asks_for(s.node, unwritten)]
    return [statement.node for statement in without(statements, left_out)]


def import_statements(path: Path, statements: list[ast.stmt]) -> ModuleType:
    """Import some of a check file's statements instead of all, under its name; raises their errors."""
    module = sys.modules[path.stem] = ModuleType(path.stem)
    module.__file__ = str(path)
    _remember_source(path)
    try:
        exec(compile(ast.Module(statements, type_ignores=[]), str(path), "exec"), vars(module))  # noqa: S102
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


def is_whole(path: Path) -> bool:
    """Whether nothing is left out of a check file or a file of answers."""
    text = text_if_readable(path)
    if text is None:
        return True  # reading the file complains
    return not has_blank(text) and all(function is None for function in _questions(path).values())


def questions_left_out(master: Path) -> list[str]:
    """The ids of the questions whose cell in a master has a blank."""
    return [question for question, function in _read_questions(master).items() if function is not None]


def questions_asked(path: Path) -> set[str]:
    """The ids of all questions of the master a check file or a file of answers belongs to, blank or not."""
    return set(_questions(path))


def _questions(path: Path) -> dict[str, str | None]:
    """The questions of the master that a check file or a file of answers belongs to."""
    return _read_questions(path.parent.parent.parent / MASTER.format(path.stem.removeprefix("test_")))


def _read_questions(master: Path) -> dict[str, str | None]:
    """For each question's id the function that it asks for, if its cell has a blank, else None."""
    text = text_if_readable(master) or ""
    questions: dict[str, str | None] = {}
    begins = [match.start() for match in _CELL.finditer(text)]
    for begin, end in pairwise([*begins, len(text)]):
        cell = text[begin:end]
        if tag := _QUESTION_TAG.search(cell.partition("\n")[0]):
            function = _FUNCTION.search(cell)
            questions[tag[1]] = (function[1] if function else "") if has_blank(cell) else None
    return questions


def _asks_for(statement: ast.stmt, functions: set[str]) -> bool:
    """Whether a definition asks its first argument for one of some functions, as a probe does."""
    if not isinstance(statement, ast.FunctionDef) or not statement.args.args:
        return False
    student = statement.args.args[0].arg
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in functions
        and isinstance(node.value, ast.Name)
        and node.value.id == student
        for node in ast.walk(statement)
    )


def _remember_source(path: Path) -> None:
    """Let ``inspect`` find the sources of definitions: it parses the whole file for those of classes."""
    text, status = without_blanks(path.read_text(encoding="utf-8")), path.stat()
    lines = text.splitlines(keepends=True)
    linecache.cache[str(path)] = (status.st_size, status.st_mtime, lines, str(path))
