"""Outside: an assignment as its master `solutions/NN_name.py` describes it.

A master is a notebook in jupytext's percent format: prose, demonstrations, and for every question a markdown
cell `## qK · Title`, a code cell tagged `question qK` (answer and stub) and a code cell tagged `check qK`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import jupytext  # type: ignore[import-untyped]

from grader.blanks import require_filled
from grader.errors import CourseError
from grader.public_check import validate_check
from grader.question import Question, read_question

__all__ = ["Assignment", "Cell", "Question", "read_assignment"]

Role = Literal["prose", "task", "code", "question", "check"]

_STEM = re.compile(r"(?P<number>\d\d)_[a-z][a-z0-9_]*")
_TAG = re.compile(r"(?P<role>question|check) (?P<question>q[1-9]\d*)")
_TITLE = re.compile(r"# (?P<number>\d+)\. (?P<title>.+)")
_HEADING = re.compile(r"## (?P<question>q[1-9]\d*) · (?P<title>.+)")


@dataclass(frozen=True)
class Cell:
    """One cell of a master; a `task` is the markdown cell with a question's heading."""

    role: Role
    source: str
    question: str | None = None
    """The question which a task, question or check cell belongs to."""


@dataclass(frozen=True)
class Assignment:
    """Everything a master says."""

    stem: str
    path: Path
    title: str
    questions: tuple[Question, ...]
    cells: tuple[Cell, ...]
    """All cells in order; a question cell holds the reference answer, without markers."""

    @property
    def reference(self) -> tuple[str, ...]:
        """The code cells of the reference solution: all but the checks, answers in place."""
        return tuple(cell.source for cell in self.cells if cell.role in ("code", "question"))

    @property
    def demonstrations(self) -> tuple[str, ...]:
        """The code cells that students get as they are."""
        return tuple(cell.source for cell in self.cells if cell.role == "code")

    @property
    def handed_out(self) -> tuple[str, ...]:
        """The same with the stubs in place."""
        stubs = {question.id: question.stub for question in self.questions}
        cells = (cell for cell in self.cells if cell.role in ("code", "question"))
        return tuple(cell.source if cell.question is None else stubs[cell.question] for cell in cells)


def read_assignment(path: Path) -> Assignment:
    """Read a master.

    Args:
        path: the master, `solutions/NN_name.py`.

    Raises:
        CourseError: the file cannot be read or contradicts itself; the text names file and question.
    """
    name = _STEM.fullmatch(path.stem)
    if name is None:
        raise CourseError(f"{path}: rename it; the name of a master is `NN_name.py`, such as `01_leaves.py`.")
    require_filled(path.parent.parent, path.stem)
    cells = _read_cells(path)
    title = _title(path, int(name["number"]), cells)
    questions = tuple(_questions(path, cells))
    answers = {question.id: question.answer for question in questions}
    return Assignment(path.stem, path, title, questions, tuple(_with_answer(cell, answers) for cell in cells))


def _read_cells(path: Path) -> list[Cell]:
    try:
        notebook = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path}: this master cannot be read ({error}).") from error
    return [_cell(path, raw) for raw in notebook.cells if raw.source.strip()]


def _cell(path: Path, raw: Mapping[str, Any]) -> Cell:
    source: str = raw["source"]
    tags: list[str] = raw["metadata"].get("tags", [])
    if raw["cell_type"] == "markdown":
        heading = _HEADING.match(source)
        return Cell("task", source, heading["question"]) if heading else Cell("prose", source)
    if not tags:
        return Cell("code", source)
    tag = _TAG.fullmatch(tags[0])
    if tag is None or len(tags) > 1:
        raise CourseError(f'{path}: the tags {tags} mean nothing here; write "question qK" or "check qK".')
    return Cell("question" if tag["role"] == "question" else "check", source, tag["question"])


def _title(path: Path, number: int, cells: list[Cell]) -> str:
    found = _TITLE.match(cells[0].source) if cells and cells[0].role == "prose" else None
    if found is None or int(found["number"]) != number:
        raise CourseError(f"{path}: begin with a markdown cell whose first line is `# {number}. Title`.")
    return found["title"].strip()


def _questions(path: Path, cells: list[Cell]) -> Iterator[Question]:
    owned: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.question is not None:
            owned.setdefault(cell.question, []).append(cell)
    if list(owned) != [f"q{number}" for number in range(1, len(owned) + 1)] or not owned:
        found = ", ".join(owned) or "none"
        raise CourseError(
            f"{path}: its questions are {found}; number them q1, q2, ... in the order of their cells."
        )
    for identity, own in owned.items():
        yield _question(f"{path}, {identity}", identity, own)


def _question(where: str, identity: str, cells: list[Cell]) -> Question:
    roles = [cell.role for cell in cells]
    if roles not in (["task", "question"], ["task", "question", "check"]):
        raise CourseError(
            f"{where}: its cells are {', '.join(roles)}; write, in this order, one markdown cell that"
            f" begins `## {identity} · Title`, one cell tagged `question {identity}`,"
            f" and at most one tagged `check {identity}`."
        )
    title = cells[0].source.partition("\n")[0].partition(" · ")[2].strip()
    _, cell, *check = (cell.source for cell in cells)
    question = read_question(where, identity, title, cell, check[0] if check else None)
    if question.public_check is not None:
        validate_check(where, question.public_check, question.function)
    return question


def _with_answer(cell: Cell, answers: Mapping[str, str]) -> Cell:
    if cell.role != "question" or cell.question is None:
        return cell
    return replace(cell, source=answers[cell.question])
