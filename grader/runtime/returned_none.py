"""Finds in the source of a student's function why it returned None in every case of a contract."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import FunctionType
from typing import Any

from .errors import MAX_LINE, printable
from .originals import builtins_copy, code_of, function_dict_of, iter_child_nodes, walk_syntax

__builtins__ = builtins_copy()

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_MAX_SOURCE = 200_000  # characters of a cell that is parsed
_MAX_STEPS = 5  # assignments through which a value is traced, and decorators that are removed


def reasons(
    has_value: Mapping[str, bool], names: Mapping[str, Any], sources: Mapping[str, str]
) -> list[dict[str, str]]:
    """The fields of ``ReturnedNone`` for each function that returned only None.

    Args:
        has_value: of the request's `CallWatch`.
        names: of the notebook.
        sources: of the notebook's cells, by the file names of their code.
    """
    none = [name for name, any_value in has_value.items() if not any_value]
    return [{"function": name, **_reason(names.get(name), sources)} for name in none]


def _reason(function: Any, sources: Mapping[str, str]) -> dict[str, str]:
    """The cause in the source; empty if it is unknown, or if several ``return`` have values."""
    for _ in range(_MAX_STEPS):
        if type(function) is not FunctionType:
            return {}
        code = code_of(function)
        if code.co_filename in sources:
            with suppress(Exception):  # a notebook can replace parts of ast
                return _read(code, sources[code.co_filename])
        function = function_dict_of(function).get("__wrapped__")  # below a decorator such as torch.no_grad()
    return {}


def _read(code: Any, source: str) -> dict[str, str]:
    definition = _definition(code, source)
    if definition is None:
        return {}
    shown: Any = definition.body
    value = shown
    if type(definition) is not ast.Lambda:
        returns = [node for node in _own_nodes(definition) if type(node) is ast.Return and node.value]
        if not returns:
            return {"ended": "without a value"}
        if len(returns) > 1 or not _is_last(returns[0], definition.body):
            return {}
        (shown,) = returns
        value = shown.value
    value = _origin(value, definition)
    text = _text(value, source)
    match value:
        case ast.Attribute(attr="grad"):
            cause = "grad"
        case ast.Call(func=ast.Attribute(attr="backward")):
            cause = "backward"
        case ast.Call():
            cause = "call"
        case ast.Constant(value=None):
            cause = "None"
        case _:
            cause = "value"
    return {"ended": "by a value", "statement": _text(shown, source), "value": text, "cause": cause}


def _definition(code: Any, source: str) -> Any:
    """The definition in a cell that a piece of code was compiled from; None if that is not certain."""
    if len(source) > _MAX_SOURCE:
        return None
    tree = compile(source, "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
    found = []
    for node in walk_syntax(tree):
        if type(node) in _FUNCTIONS:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            if (getattr(node, "name", "<lambda>"), first) == (code.co_name, code.co_firstlineno):
                found.append(node)
    return found[0] if len(found) == 1 else None


def _own_nodes(function: Any) -> Iterator[Any]:
    """All nodes below a definition that are not below another definition in it."""
    waiting = [*iter_child_nodes(function)]
    while waiting:
        node = waiting.pop()
        yield node
        if type(node) not in (*_FUNCTIONS, ast.ClassDef):
            waiting += iter_child_nodes(node)


def _is_last(statement: ast.stmt, body: list[Any]) -> bool:
    """Whether a statement ends a body; it may stand at the end of a ``with``."""
    last = body[-1]
    return last is statement or (type(last) is ast.With and _is_last(statement, last.body))


def _origin(value: Any, function: Any) -> Any:
    """The expression that gave a variable its value, if it is assigned once; any other value itself."""
    nodes = [*walk_syntax(function)]
    for _ in range(_MAX_STEPS):
        if type(value) is not ast.Name:
            break
        name = value.id
        stores = [n for n in nodes if type(n) is ast.Name and n.id == name and type(n.ctx) is not ast.Load]
        given = [
            node.value
            for node in nodes
            if type(node) is ast.Assign and [t for t in node.targets if t in stores] and len(stores) == 1
        ]
        if not given:
            break
        (value,) = given
    return value


def _text(node: Any, source: str) -> str:
    """A piece of the source, on one line."""
    return printable(" ".join((ast.get_source_segment(source, node) or "").split())[:MAX_LINE])
