"""Reads a master: its cells, as jupytext reads them, and the assignment they make.

Importing jupytext and reading a master takes half a second. Where the doctor has a memory, it remembers the
cells, too, by the master's text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from grader.course.assignment import (
    END_TASK,
    IDENTITY,
    Assignment,
    MasterCell,
    Place,
    Question,
    heading_of,
    name_of,
)
from grader.course.author_file import has_blank, not_python, read_text, without_blanks
from grader.course.public_check import validate_check
from grader.course.question_cell import read_question
from grader.course.unfinished import questions_left_out, require_finished
from grader.errors import CourseError
from grader.memory import FOLDER, Memory

_STEM = re.compile(r"(?P<number>\d\d)_[a-z][a-z0-9_]*")
_TAG = re.compile(rf"(?P<role>question|check|afterword) (?P<question>{IDENTITY})")
_TITLE = re.compile(r"# (?P<number>\d+)\. (?P<title>.+)")
_JUPYTERS_OWN = re.compile(r"(?m)^\s*[%!?]|\?\s*$|=\s*[%!]")  # of which some is no Python


def cells_of_master(path: Path, text: str) -> list[dict[str, Any]]:
    """The ``cell_type``, ``source`` and ``metadata`` of each cell of a master, whose text is given."""
    folder = path.parent.parent / FOLDER
    memory = Memory(folder / f"{path.stem}.master.json" if folder.is_dir() else None)
    key = sha256(f"{version('jupytext')}\n{text}".encode()).hexdigest()
    cells: list[dict[str, Any]] | None = memory.recall(key)
    if cells is None:
        cells = _read(text)
        memory.remember(key, cells)
        with suppress(OSError):  # a folder that cannot be written to only costs the half second again
            memory.save(everything=True)
    return cells


def _read(text: str) -> list[dict[str, Any]]:
    import jupytext  # type: ignore[import-untyped]  # noqa: PLC0415 - half a second, and often all is known

    parts = ("cell_type", "source", "metadata")
    return [{part: cell[part] for part in parts} for cell in jupytext.reads(text, fmt="py:percent").cells]


def read_assignment(path: Path) -> Assignment:
    """Read a master, `solutions/NN_name.py`, without cells and questions whose code has a blank.

    Raises:
        CourseError: the file cannot be read or contradicts itself, or every question has a blank; the text
            names file and question.
    """
    name = _STEM.fullmatch(path.stem)
    if name is None:
        raise CourseError(f"{path}: rename it; the name of a master is `NN_name.py`, such as `01_leaves.py`.")
    cells, left_out = _read_cells(path), questions_left_out(path)
    title = _title(path, int(name["number"]), cells)
    questions = tuple(_questions(path, cells, left_out))
    if not questions:
        require_finished(path.parent.parent, path.stem)
    answers = {question.id: question.answer for question in questions}
    written = (cell for cell in cells if cell.question not in left_out and not _is_blank(cell))
    return Assignment(
        path.stem, path, title, questions, tuple(_with_answer(cell, answers) for cell in written)
    )


def _is_blank(cell: MasterCell) -> bool:
    """Whether a code cell has a blank; in prose it does no harm."""
    return cell.role in {"code", "question", "check"} and has_blank(cell.source)


def _read_cells(path: Path) -> list[MasterCell]:
    text = read_text(path)
    cells = cells_of_master(path, text)
    return [
        _cell(path, raw, line)
        for raw, line in zip(cells, _lines(text, cells), strict=True)
        if raw["source"].strip()
    ]


def _lines(text: str, cells: Iterable[Mapping[str, Any]]) -> Iterator[int]:
    """Where the source of each cell begins; if jupytext rewrote it, where its first line does."""
    end = 0
    for cell in cells:
        first = cell["source"].partition("\n")[0]
        found = text.find(cell["source"], end) if cell["cell_type"] == "code" else -1
        begin = max(found if found >= 0 else text.find(first, end), end)
        end = begin + len(cell["source"] if found >= 0 else first)
        yield text.count("\n", 0, begin) + 1


def _cell(path: Path, raw: Mapping[str, Any], line: int) -> MasterCell:
    source: str = raw["source"]
    tags: list[str] = raw["metadata"].get("tags", [])
    if raw["cell_type"] == "markdown":
        return _markdown_cell(path, source, tags, line)
    if not tags:
        _require_python(path, line, without_blanks(source))
        return MasterCell("code", source, None, line)
    if tags == ["drawn"]:
        _require_drawing(path, line, source)
        return MasterCell("drawn", source, None, line)
    tag = _TAG.fullmatch(tags[0])
    if tag is None or len(tags) > 1 or tag["role"] == "afterword":
        raise CourseError(
            f"{path}, line {line - 1}: the tags {tags} of this cell mean nothing here;"
            ' write "question qK", "check qK" or "drawn".'
        )
    return MasterCell("question" if tag["role"] == "question" else "check", source, tag["question"], line)


def _markdown_cell(path: Path, source: str, tags: list[str], line: int) -> MasterCell:
    """A cell of text; its tags say that it is an afterword, or which claims it teaches."""
    heading = heading_of(source)
    tag = _TAG.fullmatch(tags[0]) if len(tags) == 1 else None
    if tag and tag["role"] == "afterword":
        return MasterCell("afterword", " ".join(source.split()), tag["question"], line)
    claims = tuple(tag.removeprefix("claim ") for tag in tags if tag.startswith("claim "))
    if len(claims) < len(tags):
        raise CourseError(
            f"{path}, line {line - 1}: the tags {tags} of this text mean nothing here;"
            ' write "afterword qK" or "claim ID".'
        )
    return MasterCell("task" if heading else "prose", source, heading[0] if heading else None, line, claims)


def _require_python(path: Path, line: int, source: str) -> None:
    """Refuse a demonstration that does not parse, unless it has Jupyter's own syntax."""
    try:
        ast.parse(source)
    except SyntaxError as error:
        if _JUPYTERS_OWN.search(source) is None:
            place = line + (error.lineno or 1) - 1
            raise CourseError(f"{path}, line {place}: {not_python(error)}.") from error


def _require_drawing(path: Path, line: int, source: str) -> None:
    """Refuse a cell that is to be drawn and does not say what, or what a reader shall see in it."""
    _require_python(path, line, source)
    is_python = _JUPYTERS_OWN.search(source) is None  # else it may not parse, and build cannot run it
    match ast.parse(source).body if is_python else []:
        case [*_, ast.Expr(ast.Call(func=ast.Name("xray"), args=[], keywords=[_, *_]))] if source[0] == "#":
            return
    raise CourseError(
        f"{path}, line {line}: begin this cell, which is tagged `drawn`, with a comment that says what is to"
        " be seen, and end it with what shall be drawn, by names: `xray(loss=loss, w=w)`."
    )


def _title(path: Path, number: int, cells: list[MasterCell]) -> str:
    found = _TITLE.match(cells[0].source) if cells and cells[0].role == "prose" else None
    if found is None or int(found["number"]) != number:
        raise CourseError(f"{path}: begin with a markdown cell whose first line is `# {number}. Title`.")
    return found["title"].strip()


def _questions(path: Path, cells: list[MasterCell], left_out: Collection[str]) -> Iterator[Question]:
    owned: dict[str, list[MasterCell]] = {}
    for cell in cells:
        if cell.question is not None:
            owned.setdefault(cell.question, []).append(cell)
    numbered = [identity for identity in owned if identity != END_TASK]
    in_order = [f"q{number}" for number in range(1, len(numbered) + 1)]
    if list(owned) not in (in_order, [*in_order, END_TASK]) or not numbered:
        found = ", ".join(owned) or "none"
        raise CourseError(
            f"{path}: its questions are {found}; number them q1, q2, ... in the order of their cells,"
            " with the end task behind them."
        )
    functions: dict[str, str] = {}
    for identity, own in owned.items():
        if identity in left_out:
            continue
        question = _question(path, identity, [cell for cell in own if not _is_blank(cell)])
        first = functions.setdefault(question.function, identity)
        if first != identity:
            raise CourseError(
                f"{path}, line {own[1].line}, {identity}: `{question.function}` is what {first} asks for"
                " already; give it another name."
            )
        yield question


def _question(path: Path, identity: str, cells: list[MasterCell]) -> Question:
    roles, where = [cell.role for cell in cells], f"{path}, line {cells[0].line}, {identity}"
    allowed = (["task", "question"], ["task", "question", "check"])
    if roles not in (*allowed, *([*some, "afterword"] for some in allowed)):
        raise CourseError(
            f"{where}: its cells are {', '.join(roles)}; write, in this order, one markdown cell that"
            f" begins `## {name_of(identity)} · Title`, one cell tagged `question {identity}`,"
            f" at most one tagged `check {identity}`, and at most one text tagged `afterword {identity}`."
        )
    title = cells[0].source.partition("\n")[0].partition(" · ")[2].strip()
    asked = cells[1]
    check = next((cell for cell in cells if cell.role == "check"), None)
    afterword = next((cell.source for cell in cells if cell.role == "afterword"), None)
    source = check.source if check else None
    question = read_question(Place(path, asked.line, identity), title, asked.source, source, afterword)
    if check:
        cell = Place(path, check.line, identity)
        validate_check(cell, check.source, question.function, has_afterword=afterword is not None)
    return question


def _with_answer(cell: MasterCell, answers: Mapping[str, str]) -> MasterCell:
    if cell.role != "question" or cell.question is None:
        return cell
    return replace(cell, source=answers[cell.question])
