"""Edits of right answers that are written down as equal, read from a file of known answers."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.doctor.known_answers import no_question, statements_about
from grader.doctor.mutation.mutants import Mutant
from grader.doctor.mutation.survivors import Origin
from grader.errors import CourseError


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
