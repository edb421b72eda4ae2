"""Compiles the code of a contract or a picture, with its helpers, for a worker.

Student code is given objects that such code makes: networks of its classes, its functions as hooks or losses.
Each function is therefore wrapped in the word ``__opaque__`` (``worker/opaque.py``): student code that holds
it cannot look into it. The worker gets code, so that it needs no parser beside student code.
"""

from __future__ import annotations

import ast
import re
from base64 import b64encode
from functools import cache
from marshal import dumps
from threading import Lock
from typing import Any

_REGISTERS = re.compile(r"register_\w*hook")

#: CPython 3.11 counts the depth of a syntax tree for all threads together, and may raise a SystemError.
_parsing = Lock()


@cache
def request_code(source: str) -> str:
    """The code of a request, marshalled and in base64; compiled once for a whole class."""
    with _parsing:
        tree = ast.fix_missing_locations(_Opaque().visit(ast.parse(source)))
        code = compile(tree, "<inside>", "exec", dont_inherit=True)
    return b64encode(dumps(code)).decode()


class _Opaque(ast.NodeTransformer):
    """Wraps functions, and whatever is registered as a hook: a method would show its object."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.decorator_list.append(_word(node))  # the innermost, below staticmethod and its like
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return _wrapped(self.generic_visit(node))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        registers = isinstance(node.func, ast.Attribute) and _REGISTERS.fullmatch(node.func.attr)
        is_plain = bool(registers and node.args) and not isinstance(node.args[0], ast.Lambda)
        self.generic_visit(node)
        if is_plain:
            node.args[0] = _wrapped(node.args[0])
        return node


def _word(place: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Name("__opaque__", ast.Load()), place)


def _wrapped(node: Any) -> ast.expr:
    return ast.copy_location(ast.Call(_word(node), [node], []), node)
