"""The mutants that no check found, as lines of text, and the edits that an author wrote down as equal.

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
    """An answer that is mutated.

    Attributes:
        question: its id.
        name: of the answer; ``reference`` for the reference.
        line: in the file of answers; None for the reference.
        cells: a notebook with this answer.
        index: of the answer's cell.
    """

    question: str
    name: str
    line: int | None
    cells: tuple[Cell, ...]
    index: int

    def __str__(self) -> str:
        return f"{self.name} (line {self.line})" if self.line else "the reference"

    @property
    def source(self) -> str:
        """The text of the answer."""
        return self.cells[self.index].source

    def mutated(self, mutant: Mutant) -> list[Cell]:
        """The notebook with a mutant in the answer's place."""
        cell = replace(self.cells[self.index], source=mutant.source)
        return [*self.cells[: self.index], cell, *self.cells[self.index + 1 :]]


@dataclass(frozen=True)
class Survivor:
    """A mutant that passes with some seed; as text, the origin. `killed_by` are the seeds that find it."""

    origin: Origin
    mutant: Mutant
    killed_by: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.origin}, {self.luck}" if self.killed_by else str(self.origin)

    @property
    def luck(self) -> str:
        """The seeds that find it, as a clause."""
        return f"found by seeds {', '.join(map(str, self.killed_by))} only"

    def is_implied_by(self, other: Survivor) -> bool:
        """Whether another survivor says all that it says."""
        return self.origin == other.origin and not other.killed_by and self.mutant.is_implied_by(other.mutant)


def survivor_lines(survivors: Sequence[Survivor], most: int | None) -> Iterator[str]:
    """Each edit once, with the answers it survives in; the edited lines once for all their edits.

    At most `most` edits are shown that survive in accepted answers only; None shows all.
    """
    by_edit: dict[tuple[str, str], list[Survivor]] = {}
    for survivor in survivors:
        by_edit.setdefault((survivor.origin.question, survivor.mutant.edit), []).append(survivor)
    reference = [same for same in by_edit.values() if _is_in_reference(same)]
    others = [same for same in by_edit.values() if not _is_in_reference(same)]
    kept = len(others) if most is None else most
    yield from _by_lines([*reference, *others[:kept]])
    if others[kept:]:
        left = Counter(same[0].origin.name for same in others[kept:])
        named = ", ".join(f"{number} in {name}" for name, number in left.items())
        yield f"  and {left.total()} more: {named}; --mutants NAME shows those of an answer, -v all"


def _is_in_reference(same: Sequence[Survivor]) -> bool:
    return any(survivor.origin.name == REFERENCE for survivor in same)


def _by_lines(edits: Sequence[list[Survivor]]) -> Iterator[str]:
    """The edits in groups, each below its question, its answer and the lines that it changes there."""
    groups: dict[tuple[str, ...], list[list[Survivor]]] = {}
    for same in edits:
        first = same[0]
        removed = [line for line in first.mutant.change if line.startswith(_REMOVED)]
        head = f"  {first.origin.question}, in {first.origin}"
        groups.setdefault((head, *(f"      {line}" for line in removed)), []).append(same)
    last = ""
    for (head, *removed), group in groups.items():
        yield from (removed if head == last else [head, *removed])
        last = head
        for same in group:
            yield from _lines_of_edit(same)


def _lines_of_edit(same: Sequence[Survivor]) -> Iterator[str]:
    """An edit, the lines it adds, the seeds that find it, and the other answers it survives in."""
    first, *more = same
    yield f"    ✗ {first.mutant.edit}"
    yield from (f"      {line}" for line in first.mutant.change if not line.startswith(_REMOVED))
    if first.killed_by:
        yield f"      {first.luck}"
    if more:
        others = ("another line" if other.origin == first.origin else str(other) for other in more)
        yield f"      also in {', '.join(dict.fromkeys(others))}"


@dataclass(frozen=True)
class Equal:
    """Edits that leave answers right; as text, where they are written down.

    Attributes:
        question: its id.
        edits: their names, as ``doctor --mutants`` prints them.
        answers: the names of the answers that are meant; empty for all.
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
        return self.is_about(origin) and mutant.edit in self.edits


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
        options = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    except ValueError:
        question, edits, options = None, [], {}
    if not edits or not options.get("why") or not set(options) <= {"why", "answers"}:
        raise CourseError(f'{where}: write equal("q1", "x -> x.clone()", why="...") with literals')
    if question not in tuple(functions):
        raise CourseError(f"{where}: {no_question(question, functions)}")
    return Equal(question, tuple(edits), tuple(options.get("answers", ())), call.lineno)
