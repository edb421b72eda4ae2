"""The text of definitions in an author's file, and the file's lines behind a known answer's cells.

The definitions that a name needs decide which verdicts an edit of the file can change.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.checks.diagnosis import quoted
from grader.course.author_file import without_blanks
from grader.notebooks.reader import Cell

#: `code cell 2, line 3` and `code cell 2): `y.backward()``, as `grader.checks.diagnosis` says them.
_PLACE = re.compile(r"code cell (?P<cell>\d+)(?:, line (?P<line>\d+)|(?=\)?: (?P<quoted>`[^`]*`)))")


@dataclass(frozen=True)
class _TopStatement:
    """A statement at the top of a file: what it binds, what it names, and its text."""

    binds: frozenset[str]
    names: frozenset[str]
    text: str
    module: str | None = None  # from which it imports


def needed_text(path: Path, names: Iterable[str]) -> str:
    """The text of the definitions that some names need, directly or not.

    Statements that bind no name are always needed. Where a file imports from a file beside it, that file's
    definitions belong to it.
    """
    statements = _statements(path, path.stat().st_mtime_ns)
    needed = _closure(statements, names)
    texts = [s.text for s in statements if not s.binds or s.binds & needed]
    for statement in statements:
        beside = path.parent / f"{statement.module}.py"
        if statement.module and statement.binds & needed and beside.is_file():
            texts.append(needed_text(beside, statement.binds & needed))
    return "\n".join(texts)


def _closure(statements: list[_TopStatement], names: Iterable[str]) -> set[str]:
    """The names, and all names that their statements name."""
    needed: set[str] = set()
    waiting = set(names).union(*(s.names for s in statements if not s.binds))
    while waiting:
        needed |= waiting
        waiting = set().union(*(s.names for s in statements if s.binds & waiting)) - needed
    return needed


@cache
def _statements(path: Path, _: int) -> list[_TopStatement]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    return [_read(node, lines) for node in ast.parse(without_blanks(text)).body]


def _read(node: ast.stmt, lines: list[str]) -> _TopStatement:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    names = frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
    names |= {a.arg for n in ast.walk(node) if isinstance(n, ast.arguments) for a in n.args}  # fixtures
    module = node.module if isinstance(node, ast.ImportFrom) else None
    return _TopStatement(frozenset(_bound(node)), names, "".join(lines[first - 1 : node.end_lineno]), module)


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


def lines_of(nodes: Sequence[ast.stmt], source: str) -> dict[int, int]:
    """For each line of what `ast.unparse` made of some statements, the line in which it was written."""
    found: dict[int, int] = {}
    for written, unparsed in zip(nodes, ast.parse(source).body, strict=False):
        for one, other in zip(ast.walk(written), ast.walk(unparsed), strict=False):
            if isinstance(one, ast.stmt | ast.expr) and isinstance(other, ast.stmt | ast.expr):
                found.setdefault(other.lineno, one.lineno)
    return found


def in_file(text: str, path: Path, cells: Sequence[Cell], lines: Sequence[Mapping[int, int]]) -> str:
    """A diagnosis in which the file and line of a known answer replace its cell.

    Args:
        text: the diagnosis.
        path: the file of answers.
        cells: the answer's notebook.
        lines: for each cell whose lines are known, the file's line by the cell's line.
    """

    def placed(match: re.Match[str]) -> str:
        cell = int(match["cell"])
        if not 0 < cell <= len(lines):
            return match[0]
        own = lines[cell - 1]
        line = int(match["line"]) if match["line"] else _line_of(match["quoted"], cells[cell - 1].source, own)
        return f"{path.name}, line {own[line]}" if line in own else match[0]

    return _PLACE.sub(placed, text)


def _line_of(quote: str, source: str, known: Mapping[int, int]) -> int:
    """The first line that reads so; 0 where none does."""
    wanted = quote.strip("`")
    for number, line in enumerate(source.splitlines(), start=1):
        if number in known and wanted and quoted(line.strip()).strip("`").startswith(wanted):
            return number
    return 0
