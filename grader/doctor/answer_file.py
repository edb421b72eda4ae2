"""A file of known answers as syntax: which statements are answers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from grader.course.author_file import questions_asked, read_syntax, written_definitions
from grader.errors import CourseError

Named = ast.FunctionDef | ast.ClassDef


def statements_about(path: Path, functions: Mapping[str, str]) -> list[ast.stmt]:
    """The statements of the file, without those that say TODO, and those of questions that are left out.

    `functions` has the function's name by the id of each question that stays.

    Raises:
        CourseError: two answers have the same name; an outcome knows its answer by the name alone.
    """
    statements = written_definitions(path, read_syntax(path).body)
    users: dict[str, tuple[str | None, int]] = {}
    for node in statements:
        for name, line in _named(node):
            if name in users:
                other, first = users[name]
                raise CourseError(
                    f"{path}, line {line}: two answers are called {name}, this one to {_question_of(node)}"
                    f" and one to {other} in line {first}; give each a name of its own"
                )
            users[name] = _question_of(node), line
    others = questions_asked(path) - set(functions)
    return [node for node in statements if _question_of(node) not in others]


def _named(node: ast.stmt) -> Iterator[tuple[str, int]]:
    """The names of a statement's answers, and their lines."""
    mark = mark_of(node)
    if mark is not None and isinstance(node, Named):
        yield node.name, mark.lineno
    match edits_call(node):
        case ast.Call(args=[_, ast.Dict(keys=keys)]):
            yield from ((str(key.value), key.lineno) for key in keys if isinstance(key, ast.Constant))


def _question_of(node: ast.stmt) -> str | None:
    """The question that an answer, or a call at the top of the file, names first."""
    call = mark_of(node) or (node.value if isinstance(node, ast.Expr) else None)
    match call:
        case ast.Call(args=[ast.Constant(value=str(question)), *_]):
            return question
    return None


def no_question(question: Any, functions: Mapping[str, str]) -> str:
    """A clause: there is no such question, but others."""
    return f"the assignment has no question {question!r}, only {', '.join(functions)}"


def mark_of(node: ast.stmt) -> ast.Call | None:
    """The decorator that makes a definition an answer."""
    for decorator in node.decorator_list if isinstance(node, Named) else ():
        match decorator:
            case ast.Call(func=ast.Name(id="accepted" | "wrong")):
                return decorator
    return None


def edits_call(node: ast.stmt) -> ast.Call | None:
    """The call of ``wrong_edits`` or ``accepted_edits`` in a statement, or None."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="accepted_edits" | "wrong_edits")) as call):
            return call
    return None


def is_wrong(mark: ast.Call) -> bool:
    """Whether a decorator, or a table of edits, is that of wrong answers."""
    return isinstance(mark.func, ast.Name) and mark.func.id in {"wrong", "wrong_edits"}


def is_bookkeeping(node: ast.stmt) -> bool:
    """Whether a statement is no part of answers' notebooks: docstring, answers, `equal`, and their import."""
    match node:
        case ast.ImportFrom(module="grader.answers") | ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="equal"))):
            return True
    return mark_of(node) is not None or edits_call(node) is not None
