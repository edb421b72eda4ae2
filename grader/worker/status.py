"""Inside: tells whether a name of the notebook is an answer, the stub or missing; nothing of it is run."""

from __future__ import annotations

import ast
import types
from typing import Any

from .cells import Notebook

_class_name, _class_dict = (type.__dict__[name].__get__ for name in ("__name__", "__dict__"))


def answer_status(stub: str, name: str, notebook: Notebook) -> str:
    """``missing``, ``untouched`` (still the stub) or ``answered``, for a name the notebook should define.

    Compared are syntax trees without docstrings, so a stub that was only moved, reformatted or
    commented is still the stub. Nothing of the student's runs for it.
    """
    if name not in notebook.names:
        return "missing"
    try:
        definitions = _definitions_of(notebook.names[name], notebook.sources)
        asked = _shape(ast.parse(stub).body[0])
        untouched = bool(definitions) and all(found and _shape(found) == asked for found in definitions)
    except Exception:  # nothing a student defined may break the survey
        return "answered"
    return "untouched" if untouched else "answered"


def _definitions_of(value: Any, sources: dict[str, str]) -> list[ast.stmt | None]:
    """The top-level definition of a function, or of each method of a class; None is one of no cell's."""
    is_class = issubclass(type(value), type)
    candidates = _class_dict(value).values() if is_class else [value]
    functions = [c.__func__ if type(c) in (staticmethod, classmethod) else c for c in candidates]
    codes = [f.__code__ for f in functions if type(f) is types.FunctionType]
    if is_class and not codes:  # a stub without methods; the last class of that name it must be
        return [_last_class(_class_name(value), sources)]
    return [_definition_at(code.co_filename, code.co_firstlineno, sources) for code in codes]


def _definition_at(file: str, line: int, sources: dict[str, str]) -> ast.stmt | None:
    statements = ast.parse(sources.get(file, "")).body
    return next((s for s in statements if s.lineno <= line <= (s.end_lineno or 0)), None)


def _last_class(name: str, sources: dict[str, str]) -> ast.stmt | None:
    for text in reversed(sources.values()):
        for statement in reversed(_parsed(text)):
            if isinstance(statement, ast.ClassDef) and statement.name == name:
                return statement
    return None


def _parsed(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except SyntaxError:
        return []


def _shape(definition: ast.stmt) -> str:
    """A definition's syntax without its docstrings."""
    for node in ast.walk(definition):
        if (
            isinstance(node, ast.FunctionDef | ast.ClassDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:]
    return ast.dump(definition)
