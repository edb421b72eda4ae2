"""The mutants that no check found, and their text: the reference's first, edits of a line together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader.doctor.known_answers import REFERENCE
from grader.doctor.mutation.mutants import Mutant
from grader.notebooks.reader import Cell

_REMOVED = "- "


def survivor_lines(survivors: Sequence[Survivor], most: int | None) -> Iterator[str]:
    """Each edit once, with the answers it survives in; the edited lines once for all their edits.

    At most `most` edits are shown that survive in accepted answers only; None shows all.
    """
    by_edit: dict[tuple[str, str], list[Survivor]] = {}
    for one in survivors:
        by_edit.setdefault((one.origin.question, one.mutant.place), []).append(one)
    reference = [same for same in by_edit.values() if _is_in_reference(same)]
    others = [same for same in by_edit.values() if not _is_in_reference(same)]
    kept = len(others) if most is None else most
    yield from _by_place([*reference, *others[:kept]])
    if others[kept:]:
        left = Counter(same[0].origin.name for same in others[kept:])
        named = ", ".join(f"{number} in {name}" for name, number in left.items())
        yield f"  and {left.total()} more: {named}; --mutants NAME shows those of an answer, -v all"


def _is_in_reference(same: Sequence[Survivor]) -> bool:
    return any(one.origin.name == REFERENCE for one in same)


def _by_place(edits: Sequence[list[Survivor]]) -> Iterator[str]:
    """The edits in groups, each below its question, its answer and the lines that it changes there."""
    places: dict[tuple[str, ...], list[list[Survivor]]] = {}
    for same in edits:
        first = same[0]
        removed = [line for line in first.mutant.change if line.startswith(_REMOVED)]
        head = f"  {first.origin.question}, in {first.origin}"
        places.setdefault((head, *(f"      {line}" for line in removed)), []).append(same)
    last = ""
    for (head, *removed), group in places.items():
        yield from (removed if head == last else [head, *removed])
        last = head
        for first, *more in group:
            yield f"    ✗ {first.mutant.place}"
            added = [line for line in first.mutant.change if not line.startswith(_REMOVED)]
            yield from (f"      {line}" for line in added)
            if first.killed_by:
                yield f"      {first.luck}"
            if more:
                others = dict.fromkeys(
                    "another line" if one.origin == first.origin else str(one) for one in more
                )
                yield f"      also in {', '.join(others)}"


@dataclass(frozen=True)
class Origin:
    """An answer that mutants are made of.

    Attributes:
        question: its id.
        name: of the answer; ``reference`` for the reference.
        line: in the file of answers; None for the reference.
        cells: a notebook with this answer.
        place: the index of the answer's cell.
    """

    question: str
    name: str
    line: int | None
    cells: tuple[Cell, ...]
    place: int

    def __str__(self) -> str:
        return f"{self.name} (line {self.line})" if self.line else "the reference"

    @property
    def source(self) -> str:
        """The answer's own text."""
        return self.cells[self.place].source

    def mutated(self, mutant: Mutant) -> list[Cell]:
        """The notebook with a mutant in the answer's place."""
        cell = self.cells[self.place]
        return [*self.cells[: self.place], replace(cell, source=mutant.source), *self.cells[self.place + 1 :]]


@dataclass(frozen=True)
class Survivor:
    """A mutant that passes with some seed; as text, what it was made of. `killed_by` are the other seeds."""

    origin: Origin
    mutant: Mutant
    killed_by: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.origin}, {self.luck}" if self.killed_by else str(self.origin)

    @property
    def luck(self) -> str:
        """Which seeds find it."""
        return f"found by seeds {', '.join(map(str, self.killed_by))} only"

    def is_implied_by(self, other: Survivor) -> bool:
        """Whether it says no more than another survivor does."""
        return self.origin == other.origin and not other.killed_by and self.mutant.is_implied_by(other.mutant)
