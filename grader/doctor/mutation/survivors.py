"""The mutants that no check found, and the edits that an author wrote down as equal."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from grader.doctor.answer_file import no_question, statements_about
from grader.doctor.mutation.mutants import Mutant
from grader.errors import CourseError
from grader.notebooks.reader import Cell


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
