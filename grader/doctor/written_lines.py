"""Outside: where a line of a known answer is written: what students read as a place in a cell, in a file."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.checks.diagnosis import quoted
from grader.notebooks.reader import Cell

#: `code cell 2, line 3` and `code cell 2): `y.backward()``, as `grader.checks.diagnosis` says them.
_PLACE = re.compile(r"code cell (?P<cell>\d+)(?:, line (?P<line>\d+)|(?=\)?: (?P<quoted>`[^`]*`)))")


def lines_of(nodes: Sequence[ast.stmt], source: str) -> dict[int, int]:
    """For each line of what `ast.unparse` made of some statements, the line in which it was written."""
    found: dict[int, int] = {}
    for written, unparsed in zip(nodes, ast.parse(source).body, strict=False):
        for one, other in zip(ast.walk(written), ast.walk(unparsed), strict=False):
            if isinstance(one, ast.stmt | ast.expr) and isinstance(other, ast.stmt | ast.expr):
                found.setdefault(other.lineno, one.lineno)
    return found


def in_file(text: str, path: Path, cells: Sequence[Cell], lines: Sequence[Mapping[int, int]]) -> str:
    """A sentence in which a file and a line stand for the cell of a known answer.

    Args:
        text: a diagnosis.
        path: the file of answers.
        cells: the answer's notebook.
        lines: for each cell whose lines are known, the line of the file by the line of the cell.
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
