"""An assignment as its notebook source `solutions/NN_name.py` describes it.

A notebook source is a notebook in jupytext's percent format: text, demonstrations, and for each question a
markdown cell `## qK · Title`, a code cell tagged `question qK` (answer and starter code), a code cell tagged
`check qK` and a markdown cell tagged `afterword qK`. The last question may be the bonus task, whose id is
`end`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

#: The id of a bonus task: a question that is judged like the others, but does not count for the score.
BONUS_TASK = "end"

#: The paths of an assignment's files in a course, by its stem.
SOURCE, CHECKS, ANSWERS = "solutions/{}.py", "tests/hidden/test_{}.py", "tests/answers/{}.py"

#: The line above the list that `build` writes into a task from its contract.
MAY_COME_IN = "**Inputs the graded checks use** (skip this on first read):"
#: The name of the call among the arguments in `Question.levels`.
THE_CALL = "the call"

#: The name of an assignment: ``NN_name``.
STEM = re.compile(r"(?P<number>\d\d)_(?P<name>[a-z][a-z0-9_]*)", re.ASCII)

#: A pattern of question ids.
IDENTITY = rf"q[1-9]\d*|{BONUS_TASK}"

_HEADING = re.compile(r"## (?:(?P<question>q[1-9]\d*)|Bonus task) · (?P<title>.+)")
_SECTION = re.compile(r"(?m)^#+ ")  # a heading of any level

Role = Literal["prose", "task", "code", "question", "check", "afterword", "drawn"]


def heading_of(source: str) -> tuple[str, str] | None:
    """The id and the title of the question that a markdown cell begins, or None."""
    heading = _HEADING.match(source)
    return (heading["question"] or BONUS_TASK, heading["title"].strip()) if heading else None


def name_of(identity: str) -> str:
    """The name of a question for people."""
    return "Bonus task" if identity == BONUS_TASK else identity


@dataclass(frozen=True)
class Question:
    """A question of a notebook source.

    Attributes:
        id: `q1`, `q2`, ... in the order of the notebook.
        function: the name of the function or class that students complete.
        starter_code: the cell as students get it.
        answer: the cell with the reference answer instead, without markers.
        public_check: the source of the check cell.
        afterword: the text for students who solved the question, with code between backticks.
        place: the beginning of its cell, if it was read from a notebook source.
        levels: phrases for the levels of each argument, and of the call, in the hidden checks.
    """

    id: str
    title: str
    function: str
    starter_code: str
    answer: str
    public_check: str | None
    afterword: str | None = None
    place: Place | None = field(default=None, compare=False)
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False, hash=False)

    @property
    def is_bonus_task(self) -> bool:
        return self.id == BONUS_TASK

    @property
    def returns_a_value(self) -> bool:
        """Whether the reference is a function that returns a value."""
        return _returns_a_value(ast.parse(self.answer).body[0])


def _returns_a_value(node: ast.AST) -> bool:
    """Whether a function returns a value; functions and classes inside it are ignored."""
    return any(
        (isinstance(child, ast.Return) and child.value is not None)
        or (not isinstance(child, ast.FunctionDef | ast.ClassDef | ast.Lambda) and _returns_a_value(child))
        for child in ast.iter_child_nodes(node)
    )


@dataclass(frozen=True)
class Place:
    """A line of a question in a notebook source, from 1; as text, the beginning of an error."""

    path: Path
    line: int
    question: str

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}, {self.question}"

    def at(self, line: int) -> Place:
        """A line of the cell that begins at this place, counted from 1."""
        return replace(self, line=self.line + line - 1)


@dataclass(frozen=True)
class SourceCell:
    """A cell of a notebook source; a `task` is the markdown cell with a question's heading.

    A `drawn` cell ends in `xray(...)`: students get the picture and, below it, the cell's first comment.

    Attributes:
        question: the id of the question that the cell belongs to.
        line: the line of the file at which its text begins, counted from 1.
        claims: the ids of the claims about PyTorch that a markdown cell teaches.
    """

    role: Role
    source: str
    question: str | None = None
    line: int = field(default=1, compare=False)
    claims: tuple[str, ...] = ()


@dataclass(frozen=True)
class Assignment:
    """A notebook source; its question cells contain the reference answers, without markers."""

    stem: str
    path: Path
    title: str
    questions: tuple[Question, ...]
    cells: tuple[SourceCell, ...]

    @property
    def reference(self) -> tuple[str, ...]:
        """The code cells of the reference solution: all except the checks."""
        return tuple(cell.source for cell in self.cells if cell.role in ("code", "question"))

    @property
    def demonstrations(self) -> tuple[str, ...]:
        """The code cells that students get unchanged."""
        return tuple(cell.source for cell in self.cells if cell.role == "code")

    @property
    def released_cells(self) -> tuple[str, ...]:
        """The code cells of the reference solution, with starter code instead of answers."""
        starter_code = {question.id: question.starter_code for question in self.questions}
        cells = (cell for cell in self.cells if cell.role in ("code", "question"))
        return tuple(cell.source if cell.question is None else starter_code[cell.question] for cell in cells)

    def asks_to_guess(self, index: int) -> bool:
        """Whether the text between a cell and the last heading before it says "Guess first"."""
        text = "\n".join(cell.source for cell in self.cells[:index] if cell.role in ("prose", "task"))
        return "guess first" in _SECTION.split(text)[-1].casefold()

    def cell_at(self, line: int) -> SourceCell:
        """The cell that contains a line of the file, counted from 1."""
        return max((cell for cell in self.cells if cell.line <= line), key=lambda cell: cell.line)

    def with_only(self, questions: Collection[str]) -> Assignment:
        """The assignment with only the questions of these ids."""
        return replace(
            self,
            questions=tuple(question for question in self.questions if question.id in questions),
            cells=tuple(cell for cell in self.cells if cell.question is None or cell.question in questions),
        )

    def cells_for(self, question: str, *, as_released: bool = False) -> tuple[str, ...]:
        """The code cells that a question needs; with `as_released`, starter code replaces the answers.

        These are all cells, except answers to other questions whose function no needed cell names.
        """
        code = [cell for cell in self.cells if cell.role in ("code", "question")]
        needed, previous = {question}, set[str]()
        while needed != previous:
            previous = set(needed)
            text = "\n".join(cell.source for cell in code if cell.question in {None, *needed})
            needed |= {q.id for q in self.questions if re.search(rf"\b{q.function}\b", text)}
        starter_code = {q.id: q.starter_code for q in self.questions} if as_released else {}
        cells = [cell for cell in code if cell.question in {None, *needed}]
        return tuple(starter_code.get(cell.question or "", cell.source) for cell in cells)
