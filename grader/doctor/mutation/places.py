"""The places of a definition that an edit may change: its blocks and its expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

Loop = ast.For | ast.While
_SIGNATURES = {"decorator_list", "args", "returns", "annotation", "bases", "keywords"}


@dataclass(frozen=True)
class Block:
    """The statements of a definition, loop or `with`, which is their `owner`.

    `unrecorded` says whether they run under `no_grad` or `inference_mode`.
    """

    statements: list[ast.stmt]
    owner: ast.AST
    unrecorded: bool

    def spliced(self, begin: int, end: int, *others: ast.stmt) -> list[ast.stmt]:
        """The statements, with others in the place of those from `begin` to before `end`."""
        return [*self.statements[:begin], *others, *self.statements[end:]]

    @contextmanager
    def replaced(self, statements: list[ast.stmt]) -> Iterator[None]:
        """Put other statements into the tree, and take them back at the end."""
        original = list(self.statements)
        self.statements[:] = statements or [ast.Pass()]
        try:
            yield
        finally:
            self.statements[:] = original


@dataclass(frozen=True)
class Place:
    """An expression `node`, and its place in the tree.

    Attributes:
        field: the parent's field that holds it.
        index: in that field, if the field is a list.
        statement: the innermost statement around it.
        unrecorded: whether it is evaluated under `no_grad` or `inference_mode`.
    """

    node: ast.expr
    parent: ast.AST
    field: str
    index: int | None
    statement: ast.stmt
    unrecorded: bool

    @contextmanager
    def replaced(self, expression: ast.expr) -> Iterator[None]:
        """Put another expression into the tree, and take it back at the end."""
        self._put(expression)
        try:
            yield
        finally:
            self._put(self.node)

    def _put(self, expression: ast.expr) -> None:
        if self.index is None:
            setattr(self.parent, self.field, expression)
        else:
            getattr(self.parent, self.field)[self.index] = expression


def blocks(node: ast.AST, *, unrecorded: bool = False) -> Iterator[Block]:
    """All blocks of a definition, the outer first."""
    for field, child, _ in _children(node):
        below = unrecorded or (field == "body" and records_nothing(node))
        if child is None:
            yield Block(getattr(node, field), node, below)
        elif not isinstance(child, ast.expr):
            yield from blocks(child, unrecorded=below)


def places(definition: ast.stmt) -> Iterator[Place]:
    """All expressions of a definition but those of its signature, the outer first."""
    yield from _places(definition, definition, unrecorded=False)


def _places(node: ast.AST, statement: ast.stmt, *, unrecorded: bool) -> Iterator[Place]:
    for field, child, index in _children(node):
        below = unrecorded or (field == "body" and records_nothing(node))
        if isinstance(child, ast.expr):
            yield Place(child, node, field, index, statement, below)
        if child is not None:
            innermost = child if isinstance(child, ast.stmt) else statement
            yield from _places(child, innermost, unrecorded=below)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST | None, int | None]]:
    """The nodes below a node; before the statements of a block, None once for the block itself."""
    is_definition = isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda | ast.AnnAssign | ast.arg)
    for field, value in ast.iter_fields(node):
        if is_definition and field in _SIGNATURES:
            continue
        if isinstance(value, ast.AST):
            yield field, value, None
        elif isinstance(value, list) and value:
            if isinstance(value[0], ast.stmt):
                yield field, None, None
            for index, child in enumerate(value):
                if isinstance(child, ast.AST):
                    yield field, child, index


def records_nothing(node: ast.AST) -> bool:
    """Whether autograd does not record the body of a statement."""
    managers = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
    managers += node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(name in ast.unparse(manager) for manager in managers for name in ("no_grad", "inference_mode"))
