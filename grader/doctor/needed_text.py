"""The text of a check file that a verdict depends on: an edit of any other text changes no verdict."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.course.author_file import global_names, lines_of


def needed_text(path: Path, names: Iterable[str]) -> str:
    """The text of the definitions that some names need, also of those imported from a file beside it.

    An edit of any other text changes no verdict on the names.
    """
    statements, lines = _read(path, path.stat().st_mtime_ns)
    wanted: set[str] = set()
    new = set(names).union(*(s.needs for s in statements if not s.defines))  # these are always needed
    while new:
        wanted |= new
        new = set().union(*(s.needs for s in statements if s.defines & new)) - wanted
    texts: list[str] = []
    for statement in (s for s in statements if not s.defines or s.defines & wanted):
        texts += [lines[number - 1] for number in lines_of(statement.node)]
        module = statement.node.module if isinstance(statement.node, ast.ImportFrom) else None
        beside = path.parent / f"{module}.py"
        if module and beside.is_file():
            texts.append(needed_text(beside, statement.defines & wanted))
    return "\n".join(texts)


@cache
def _read(path: Path, _: int) -> tuple[list[_Statement], list[str]]:
    text = path.read_text(encoding="utf-8")
    return [*map(_Statement.of, ast.parse(text).body)], text.splitlines()


@dataclass(frozen=True, eq=False)
class _Statement:
    """A statement at the top of a file: the names it defines, and the names of the file or Python it uses."""

    node: ast.stmt
    defines: frozenset[str]
    needs: frozenset[str]

    @classmethod
    def of(cls, node: ast.stmt) -> _Statement:
        """The statement of a node; the arguments of a check are probes that it needs."""
        table = symtable.symtable(ast.unparse(node), "<names>", "exec")
        defines = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
        needs = global_names(table)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            needs |= {argument.arg for argument in node.args.args}
        return cls(node, frozenset(defines), frozenset(needs))
