"""Whether a name of the notebook is an answer, the stub or missing; nothing of the notebook is run."""

from __future__ import annotations

import ast
import types
from contextlib import suppress
from typing import Any

from .cells import POSTPONED, Notebook

_class_name, _class_dict = (type.__dict__[name].__get__ for name in ("__name__", "__dict__"))


def answer_status(stub: str, name: str, notebook: Notebook) -> str:
    """``missing``, ``untouched`` (still the stub) or ``answered``, for a name the notebook should define.

    Compared are syntax trees without docstrings, so a stub that was only moved, reformatted or
    commented is still the stub. Nothing of the student's runs for it.
    """
    if name not in notebook.names:
        return "missing"
    value = notebook.names[name]
    try:
        asked, names = _parsed_stub(stub)
        if type(value) is types.FunctionType and _names_in(value.__code__) not in names:
            return "answered"  # without a look at its text, which takes much longer
        definitions = _definitions_of(value, notebook)
        untouched = bool(definitions) and all(d and _is_same(d, asked) for d in definitions)
    except Exception:  # nothing a student defined may break the survey
        return "answered"
    return "untouched" if untouched else "answered"


_Names = tuple[tuple[str, ...], tuple[str, ...]]


def _parsed_stub(stub: str) -> tuple[ast.stmt, list[_Names]]:
    """The syntax of a stub, and the names that a function uses, with and without postponed annotations."""
    definition = ast.parse(stub).body[0]
    modules = (compile(stub, "<stub>", "exec", flags, dont_inherit=True) for flags in (0, POSTPONED))
    codes = (code for module in modules for code in module.co_consts if isinstance(code, types.CodeType))
    return definition, [_names_in(c) for c in codes if c.co_name == getattr(definition, "name", None)]


def _names_in(code: types.CodeType) -> _Names:
    """What no docstring and no formatting changes."""
    return code.co_names, code.co_varnames


def _definitions_of(value: Any, notebook: Notebook) -> list[ast.stmt | None]:
    """The top-level definition of a function, or of each method of a class; None where it is in no cell."""
    is_class = issubclass(type(value), type)
    candidates = _class_dict(value).values() if is_class else [value]
    functions = [c.__func__ if type(c) in (staticmethod, classmethod) else c for c in candidates]
    codes = [f.__code__ for f in functions if type(f) is types.FunctionType]
    if is_class and not codes:  # a stub without methods; the last class of that name it must be
        return [_last_class(_class_name(value), notebook)]
    return [_definition_at(code.co_filename, code.co_firstlineno, notebook) for code in codes]


def _definition_at(file: str, line: int, notebook: Notebook) -> ast.stmt | None:
    statements = notebook.tree(file).body
    return next((s for s in statements if s.lineno <= line <= (s.end_lineno or 0)), None)


def _last_class(name: str, notebook: Notebook) -> ast.stmt | None:
    for file in reversed(notebook.sources):
        with suppress(SyntaxError):
            for statement in reversed(notebook.tree(file).body):
                if isinstance(statement, ast.ClassDef) and statement.name == name:
                    return statement
    return None


def _is_same(one: Any, other: Any) -> bool:
    """Whether two pieces of syntax are the same but for docstrings; an answer differs early on."""
    if type(one) is not type(other):
        return False
    if isinstance(one, ast.AST):
        pairs = ((_field(one, name), _field(other, name)) for name in one._fields)
        return all(_is_same(*pair) for pair in pairs)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)


def _field(node: ast.AST, name: str) -> Any:
    """A field of a node; a body without its docstring."""
    value: Any = getattr(node, name, None)
    if (
        name == "body"
        and isinstance(node, ast.FunctionDef | ast.ClassDef)
        and ast.get_docstring(node, clean=False) is not None
    ):
        return value[1:]
    return value
