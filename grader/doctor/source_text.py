"""The text of definitions in an author's file, and the file's lines behind a known answer's cells.

The definitions that a name needs decide which verdicts an edit of the file can change.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from grader.checks.diagnosis import quoted
from grader.course.author_file import without_blanks
from grader.course.definitions import Statement, closure, needed
from grader.notebooks.reader import Cell

#: `code cell 2, line 3` and `code cell 2): `y.backward()``, as `grader.checks.diagnosis` says them.
_PLACE = re.compile(r"code cell (?P<cell>\d+)(?:, line (?P<line>\d+)|(?=\)?: (?P<quoted>`[^`]*`)))")


def needed_text(path: Path, names: Iterable[str]) -> str:
    """The text of the definitions that some names need, directly or not.

    Where a file imports from a file beside it, that file's definitions belong to it.
    """
    statements, lines = _read(path, path.stat().st_mtime_ns)
    wanted = closure(statements, names)
    texts: list[str] = []
    for statement in needed(statements, names):
        texts += statement.lines(lines)
        module = statement.node.module if isinstance(statement.node, ast.ImportFrom) else None
        beside = path.parent / f"{module}.py"
        if module and beside.is_file():
            texts.append(needed_text(beside, statement.defines & wanted))
    return "\n".join(texts)


@cache
def _read(path: Path, _: int) -> tuple[list[Statement], list[str]]:
    text = path.read_text(encoding="utf-8")
    return [*map(Statement.of, ast.parse(without_blanks(text)).body)], text.splitlines()


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
