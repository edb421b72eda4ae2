"""A failed cell of a notebook, and how it ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from grader.sandbox.evidence import CellFailure
from grader.sandbox.facts import Raised
from grader.text import quoted, utf8_text

_MAX_TEXT = 200  # of what a student chose

RAISED: Final = "raised"
STOPPED: Final = "stopped"
LEFT_OUT: Final = "left out"


@dataclass(frozen=True)
class FailedCell:
    """A failed cell.

    Attributes:
        cell: its number among the code cells, from 1.
        ended: ``raised`` (an error stopped it), ``stopped`` (its time ran out) or ``left out`` (it ended its
            process, or the notebook's time ran out before it).
        text: the error and its line, written by a student, or why the cell was left out.
    """

    cell: int
    ended: Literal["raised", "stopped", "left out"]
    text: str = ""

    @classmethod
    def of(cls, observed: CellFailure) -> FailedCell:
        """The cell as it is told."""
        error = observed.raised
        if error is None:
            return cls(observed.cell, LEFT_OUT, observed.fault or "")
        if error.type == "CellTimeout":
            return cls(observed.cell, STOPPED)
        text = " ".join(error.text.split())[:_MAX_TEXT]
        kind = error.type[:_MAX_TEXT]
        message = f"{kind}: {text}" if text else kind
        return cls(observed.cell, RAISED, utf8_text(f"{message}{_at(error, observed.cell)}"))

    @property
    def sentence(self) -> str:
        """What a student reads."""
        if self.ended == RAISED:
            return f"Code cell {self.cell} stopped with {self.text}."
        return about_stopped([self.cell], self.text)


def _at(error: Raised, cell: int) -> str:
    """The line of the error; its function; its cell if that is another."""
    if not error.line:
        return ""
    elsewhere = "" if error.cell.partition(",")[0] == f"cell {cell}" else f" (code {error.cell})"
    function = f" in {error.function}" if error.function else ""
    return f", at {quoted(error.line)}{function}{elsewhere}"


def about_stopped(cells: Iterable[object], text: str) -> str:
    """A sentence about cells that were stopped or left out for the same reason."""
    numbers = [str(cell) for cell in cells]
    is_single = len(numbers) == 1
    which = f"Code cell{'' if is_single else 's'} {', '.join(numbers)} {'was' if is_single else 'were'}"
    if text:
        return f"{which} left out: {text}."
    return f"{which} stopped, because {'it' if is_single else 'they'} took too long."
