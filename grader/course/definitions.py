"""Which top-level statements of an author's file need each other, by the names they define and use."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement at the top of a file: the names it defines, and the names of the file or Python it uses."""

    node: ast.stmt
    defines: frozenset[str]
    needs: frozenset[str]

    @classmethod
    def of(cls, node: ast.stmt) -> Statement:
        """The statement of a node; the arguments of a check are probes that it needs."""
        table = symtable.symtable(ast.unparse(node), "<names>", "exec")
        defines = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
        needs = global_names(table)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            needs |= {argument.arg for argument in node.args.args}
        return cls(node, frozenset(defines), frozenset(needs))

    def lines(self, of: Sequence[str]) -> Sequence[str]:
        """Its lines among those of its file, decorators included."""
        decorators: list[ast.expr] = getattr(self.node, "decorator_list", [])
        first = min([self.node.lineno, *(decorator.lineno for decorator in decorators)])
        return of[first - 1 : self.node.end_lineno]


def global_names(table: symtable.SymbolTable) -> set[str]:
    """The names that code takes from outside its own functions and classes."""
    symbols = (symbol for scope in scopes(table) for symbol in scope.get_symbols())
    return {symbol.get_name() for symbol in symbols if symbol.is_global() and symbol.is_referenced()}


def scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """A scope and all scopes inside it."""
    yield table
    for child in table.get_children():
        yield from scopes(child)


def closure(statements: Sequence[Statement], names: Iterable[str]) -> set[str]:
    """Some names and all that their definitions need, directly or not.

    Statements that define no name are always needed.
    """
    found: set[str] = set()
    waiting = set(names).union(*(s.needs for s in statements if not s.defines))
    while waiting:
        found |= waiting
        waiting = set().union(*(s.needs for s in statements if s.defines & waiting)) - found
    return found


def needed(statements: Sequence[Statement], names: Iterable[str]) -> list[Statement]:
    """The statements that some names need, in their order."""
    wanted = closure(statements, names)
    return [statement for statement in statements if not statement.defines or statement.defines & wanted]


def without(statements: Sequence[Statement], left_out: Sequence[Statement]) -> list[Statement]:
    """The statements without some of them, and without all that need what these define."""
    missing = frozenset[str]().union(*(statement.defines for statement in left_out))
    kept = [statement for statement in statements if statement not in left_out]
    needing = [statement for statement in kept if statement.needs & missing]
    return without(kept, needing) if needing else kept
