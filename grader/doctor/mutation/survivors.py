"""The mutants that no check found, in lines of text, and the edits that an author wrote down as equal.

The reference's survivors come first, and edits of the same lines together.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.doctor.known_answers import REFERENCE, no_question, statements_about
from grader.doctor.mutation.mutants import Mutant
from grader.errors import CourseError
from grader.notebooks.reader import Cell

_REMOVED = "- "


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
class Equal:
    """Edits that leave answers right; as text, where they are written down.

    Attributes:
        question: the id of the question.
        edits: as ``doctor --mutants`` names them.
        answers: the names of the answers meant; empty for all.
        line: in the file.
    """

    question: str
    edits: tuple[str, ...]
    answers: tuple[str, ...]
    line: int

    def __str__(self) -> str:
        return f"{self.question}, equal (line {self.line})"

    def is_about(self, origin: Origin) -> bool:
        """Whether an answer is among those meant."""
        return self.question == origin.question and (not self.answers or origin.name in self.answers)

    def covers(self, origin: Origin, mutant: Mutant) -> bool:
        """Whether the edit that made a mutant of an answer is written down here."""
        return self.is_about(origin) and mutant.place in self.edits


def read_equals(path: Path, functions: Mapping[str, str]) -> list[Equal]:
    """Read the edits that are written down as equal; `functions` has the function's name by question.

    Raises:
        CourseError: the file is missing, or an entry says too little.
    """
    calls = (_equal_call(node) for node in statements_about(path, functions))
    return [_equal(call, functions, path) for call in calls if call]


def _equal_call(node: ast.stmt) -> ast.Call | None:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="equal")) as call):
            return call
    return None


def _equal(call: ast.Call, functions: Mapping[str, str], path: Path) -> Equal:
    where = f"{path}, line {call.lineno}"
    try:
        question, *edits = [ast.literal_eval(argument) for argument in call.args]
        said = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    except ValueError:
        question, edits, said = None, [], {}
    if not edits or not said.get("why") or not set(said) <= {"why", "answers"}:
        raise CourseError(f'{where}: write equal("q1", "x -> x.clone()", why="...") with literals')
    if question not in tuple(functions):
        raise CourseError(f"{where}: {no_question(question, functions)}")
    return Equal(question, tuple(edits), tuple(said.get("answers", ())), call.lineno)
