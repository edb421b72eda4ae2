"""Outside: the definitions of a file that some of its names need, as text.

The doctor asks for them to know which verdicts an edit of a check file can change.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.course.author_file import without_blanks


@dataclass(frozen=True)
class _Statement:
    """A statement at the top of a file: what it binds, what it names, and its text."""

    binds: frozenset[str]
    names: frozenset[str]
    text: str
    module: str | None = None  # from which it imports


def needed_text(path: Path, names: Iterable[str]) -> str:
    """The text of the definitions that some names need, with all that these need in turn.

    Statements that bind no name belong to every answer. Where a file imports from a file beside it, that
    file's definitions belong to it.

    Args:
        path: a Python file that can be parsed, apart from its blanks.
        names: of definitions at its top.
    """
    statements = _statements(path, path.stat().st_mtime_ns)
    needed = _closure(statements, names)
    texts = [s.text for s in statements if not s.binds or s.binds & needed]
    for statement in statements:
        beside = path.parent / f"{statement.module}.py"
        if statement.module and statement.binds & needed and beside.is_file():
            texts.append(needed_text(beside, statement.binds & needed))
    return "\n".join(texts)


def _closure(statements: list[_Statement], names: Iterable[str]) -> set[str]:
    """The names, and all names that their statements name."""
    needed: set[str] = set()
    waiting = set(names).union(*(s.names for s in statements if not s.binds))
    while waiting:
        needed |= waiting
        waiting = set().union(*(s.names for s in statements if s.binds & waiting)) - needed
    return needed


@cache
def _statements(path: Path, _: int) -> list[_Statement]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    return [_read(node, lines) for node in ast.parse(without_blanks(text)).body]


def _read(node: ast.stmt, lines: list[str]) -> _Statement:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    names = frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
    names |= {a.arg for n in ast.walk(node) if isinstance(n, ast.arguments) for a in n.args}  # fixtures
    module = node.module if isinstance(node, ast.ImportFrom) else None
    return _Statement(frozenset(_bound(node)), names, "".join(lines[first - 1 : node.end_lineno]), module)


def _bound(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from ((a.asname or a.name).partition(".")[0] for a in aliases)
        case ast.Assign(targets=targets):
            yield from (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
