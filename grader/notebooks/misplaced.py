"""Finds where a notebook defines a name, if not in a code cell that Jupyter runs, or under a similar name.

Nothing is parsed as Python: a student's text decides how long that would take. Every pattern reads a text
once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from typing import NamedTuple

from grader.notebooks.reader import Cell, Notebook, OtherCell
from grader.text import quoted

#: Cell magics whose body is run as code of the notebook.
RUN_BELOW = frozenset({"time", "capture", "prun"})

_DEFINITION = r"(?m)^(?P<indentation>[ \t]*+)(?:async[ \t]++)?(?:def|class)[ \t]++"
_ANY_AT_MARGIN = re.compile(r"(?m)^(?:async[ \t]++)?(?:def|class)[ \t]++(\w++)")
_CELL_MAGIC = re.compile(r"\s*+%%(?P<name>\w++).*")
_OTHER_FILE = re.compile(r"(?m)^[ \t]*+%(?:run|load)[ \t]++.*")
_KINDS = {"markdown": "Markdown", "raw": "raw"}
_LONGEST_LINE, _LONGEST_NAME = 60, 60  # characters
_MOST_NAMES = 500  # of which the most similar is chosen
_SIMILAR = 0.8  # by the measure of difflib, which is 1 for equal names


class Misplaced(NamedTuple):
    """A definition that does not count.

    Attributes:
        where: the end of a sentence that begins with "is defined".
        failed_cell: the number of its cell, if that did not run to its end.
        is_indented: whether only the indentation of its line says why it does not count.
    """

    where: str
    failed_cell: int | None = None
    is_indented: bool = False


def misplaced_definition(
    notebook: Notebook, name: str, released: Collection[str], failed: Collection[int], counted: int | None
) -> Misplaced | None:
    """A definition of a name that does not count; None if none is found.

    Args:
        name: of a function or class.
        released: the sources of the course's own code cells.
        failed: the numbers of the cells that did not run to their end.
        counted: the number of the cell whose definition counts, if any.
    """
    pattern = re.compile(rf"{_DEFINITION}{re.escape(name)}\b")
    cells = [cell for cell in notebook.cells if cell.number != counted and cell.source not in released]
    found = [*_in_code(cells, name, pattern, failed), *_in_others(notebook.others, name, pattern)]
    return min(found, key=lambda each: each.is_indented, default=None)


def _in_code(
    cells: Iterable[Cell], name: str, pattern: re.Pattern[str], failed: Collection[int]
) -> Iterator[Misplaced]:
    for cell in cells:
        matches = pattern.finditer(cell.source) if name in cell.source else ()
        match = min(matches, key=lambda match: len(match["indentation"]), default=None)
        if match is None:
            continue
        where, magic = f"in code cell {cell.number}", _CELL_MAGIC.match(cell.source)
        if magic and magic["name"] not in RUN_BELOW:
            line = quoted(magic[0].strip()[:_LONGEST_LINE])
            why = "whose code defines no names in the notebook: delete that line"
            yield Misplaced(f"{where}, below {line}, {why}")
        elif cell.number in failed:
            yield Misplaced(f"{where}, which did not run to its end", failed_cell=cell.number)
        elif match["indentation"]:
            number = cell.source.count("\n", 0, match.start()) + 1
            why = "it is part of a function, a class or a block that did not run"
            yield Misplaced(f"{where}, but line {number} is indented: {why}", is_indented=True)


def _in_others(cells: Iterable[OtherCell], name: str, pattern: re.Pattern[str]) -> Iterator[Misplaced]:
    for cell in cells:
        if name in cell.source and pattern.search(cell.source):
            kind = _KINDS.get(cell.kind)
            what = f"a {kind} cell" if kind else f"a cell of the type {quoted(cell.kind[:_LONGEST_LINE])}"
            place = f"below code cell {cell.above}" if cell.above else "at the beginning of the notebook"
            yield Misplaced(f"in {what} ({place}), which is not run: make it a code cell")


def defined_instead(notebook: Notebook, name: str, known: Collection[str]) -> str:
    """Sentences about a definition with a similar name, or in another file; empty if there is none.

    Args:
        name: that no cell defines.
        known: names of the course, which are not meant.
    """
    nothing = f"No cell of this notebook defines {name}"
    if similar := similar_definition(notebook, name, known):
        other, number = similar
        return f"{nothing}, but code cell {number} defines {other}: if that is your answer, rename it."
    if run := other_file_run(notebook):
        line, number = run
        runs = f"Code cell {number} runs {quoted(line)}, but only the notebook itself is graded"
        return f"{nothing}. {runs}: copy the code of that file into it."
    return ""


def similar_definition(notebook: Notebook, name: str, known: Collection[str]) -> tuple[str, int] | None:
    """The function or class with the most similar name, and the number of its cell."""
    cells: dict[str, int] = {}
    for cell in notebook.cells:
        for match in _ANY_AT_MARGIN.finditer(cell.source):
            if match[1] not in known and len(match[1]) <= _LONGEST_NAME and len(cells) < _MOST_NAMES:
                cells[match[1]] = cell.number
    spelled = {_plain(other): other for other in cells}
    near = get_close_matches(_plain(name), spelled, n=1, cutoff=_SIMILAR)
    return (spelled[near[0]], cells[spelled[near[0]]]) if near else None


def _plain(name: str) -> str:
    """A name without what distinguishes ``makeWeight`` from ``make_weight``."""
    return name.casefold().replace("_", "")


def other_file_run(notebook: Notebook) -> tuple[str, int] | None:
    """The first line that runs or loads another file by a magic, and the number of its cell."""
    for cell in notebook.cells:
        if match := _OTHER_FILE.search(cell.source):
            return match[0].strip()[:_LONGEST_LINE], cell.number
    return None
