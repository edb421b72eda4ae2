"""The text of definitions in an author's file, and the file's lines for the cells of a known answer.

The definitions that a name needs decide which verdicts an edit of the file can change.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from grader.checks.diagnosis import quoted
from grader.course.author_file import Statement, closure, needed, without_blanks
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
    """For each line of statements that `ast.unparse` wrote, the line of its original in the file."""
    lines: dict[int, int] = {}
    for original, unparsed in zip(nodes, ast.parse(source).body, strict=False):
        for old, new in zip(ast.walk(original), ast.walk(unparsed), strict=False):
            if isinstance(old, ast.stmt | ast.expr) and isinstance(new, ast.stmt | ast.expr):
                lines.setdefault(new.lineno, old.lineno)
    return lines


def in_file(text: str, path: Path, cells: Sequence[Cell], lines: Sequence[Mapping[int, int]]) -> str:
    """A diagnosis in which the file and line of a known answer, whose notebook is `cells`, replace its cell.

    `lines` has, for each cell from the file, the file's line by the cell's line.
    """

    def placed(match: re.Match[str]) -> str:
        cell = int(match["cell"])
        if not 0 < cell <= len(lines):
            return match[0]
        of_cell, source = lines[cell - 1], cells[cell - 1].source
        line = int(match["line"]) if match["line"] else _line_of(match["quoted"], source, of_cell)
        return f"{path.name}, line {of_cell[line]}" if line in of_cell else match[0]

    return _PLACE.sub(placed, text)


def _line_of(quote: str, source: str, lines: Mapping[int, int]) -> int:
    """The first line of a source, among `lines`, that begins with a quotation; 0 where none does."""
    wanted = quote.strip("`")
    for number, line in enumerate(source.splitlines(), start=1):
        if number in lines and wanted and quoted(line.strip()).strip("`").startswith(wanted):
            return number
    return 0
