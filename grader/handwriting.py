"""Outside: handwriting, a student's own code of one function, found as text and neither parsed nor run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grader.notebook import Cell

_MAX_LINES = 200


@dataclass(frozen=True)
class Handwriting:
    """Where a notebook defines a name.

    Attributes:
        cell: the number of the code cell, counted from 1.
        lines: the definition, as far as its indentation tells.
        others: how many other places define the name before.
    """

    cell: int
    lines: tuple[str, ...]
    others: int


def handwriting(cells: Sequence[Cell], name: str) -> Handwriting | None:
    """The last place that defines a name, which is the one that counts; None where there is none."""
    begins = re.compile(
        rf"(?P<indent>[ \t]*)(?:(?:async[ \t]+)?def[ \t]+|class[ \t]+)?{re.escape(name)}\b(?P<rest>.*)"
    )
    found: list[tuple[int, int, list[str]]] = []
    for cell in cells:
        lines = cell.source.split("\n")
        for number, line in enumerate(lines):
            match = begins.fullmatch(line)
            if match and _defines(match, name):
                found.append((cell.number, number, lines))
    if not found:
        return None
    cell_number, first, lines = found[-1]
    return Handwriting(cell_number, tuple(_block(lines, first)), len(found) - 1)


def _defines(match: re.Match[str], name: str) -> bool:
    """Whether a line that names it first defines it: by ``def`` or ``class``, or by an assignment."""
    is_definition = not match[0].lstrip().startswith(name)
    return is_definition or re.match(r"[ \t]*(?::[^=]*)?=(?!=)", match["rest"]) is not None


def _block(lines: Sequence[str], first: int) -> list[str]:
    """The lines of a definition: its decorators, and what is indented below it."""
    indent = len(lines[first]) - len(lines[first].lstrip())
    start = first
    while start > 0 and lines[start - 1].strip().startswith("@"):
        start -= 1
    end = first + 1
    while end < len(lines) and _belongs(lines[end], indent):
        end += 1
    block = [line.expandtabs() for line in lines[start:end]]
    while not block[-1].strip():
        block.pop()
    return (
        block
        if len(block) <= _MAX_LINES
        else [*block[:_MAX_LINES], f"... {len(block) - _MAX_LINES} more lines"]
    )


def _belongs(line: str, indent: int) -> bool:
    text = line.lstrip()
    return not text or len(line) - len(text) > indent or text[0] in ")]}#"
