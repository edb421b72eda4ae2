"""Reads a notebook source: its cells, with jupytext, and the assignment that they describe.

Importing jupytext and reading a notebook source takes half a second, so the doctor's cache also contains its
cells, by the text of the file.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from grader.course.assignment import (
    BONUS_TASK,
    IDENTITY,
    STEM,
    Assignment,
    Place,
    Question,
    SourceCell,
    heading_of,
    name_of,
)
from grader.course.author_file import not_python, read_text
from grader.errors import CourseError
from grader.memory import FOLDER, Memory

_TAG = re.compile(rf"(?P<role>question|check|afterword) (?P<question>{IDENTITY})")
_TITLE = re.compile(r"# (?P<number>\d+)\. (?P<title>.+)")
_GRAMMAR = "rfc3987_syntax"
_JUPYTER_SYNTAX = re.compile(r"(?m)^\s*[%!?]|\?\s*$|=\s*[%!]")

_BEGIN, _STUB, _END = "# BEGIN SOLUTION", "# STUB", "# END SOLUTION"
#: Each marker, and the marker that it follows.
_FOLLOWS = {_BEGIN: _END, _STUB: _BEGIN, _END: _STUB}

_Definition = ast.FunctionDef | ast.ClassDef
#: The answer or the starter code of a cell: its lines, by line number in the cell.
_Part = dict[int, str]


def _parsed(path: Path, text: str) -> list[dict[str, Any]]:
    """The ``cell_type``, ``source`` and ``metadata`` of each cell in the text of a notebook source."""
    folder = path.parent.parent / FOLDER
    memory = Memory(folder / f"{path.stem}.source.json" if folder.is_dir() else None)
    key = sha256(f"{version('jupytext')}\n{text}".encode()).hexdigest()
    cells: list[dict[str, Any]] | None = memory.recall(key)
    if cells is None:
        # If rfc3987_syntax is installed, jsonschema compiles its grammar at import, which takes over a
        # second. No notebook is validated with it.
        is_known = _GRAMMAR in sys.modules
        sys.modules.setdefault(_GRAMMAR, None)  # type: ignore[arg-type]
        import jupytext  # type: ignore[import-untyped]  # noqa: PLC0415 - half a second, and seldom needed

        if not is_known:
            del sys.modules[_GRAMMAR]
        parts = ("cell_type", "source", "metadata")
        read = jupytext.reads(text, fmt="py:percent").cells
        cells = [{part: cell[part] for part in parts} for cell in read]
        memory.remember(key, cells)
        with suppress(OSError):  # without a cache, reading takes half a second again
            memory.save(everything=True)
    return cells


def read_assignment(path: Path) -> Assignment:
    """Read a notebook source, `solutions/NN_name.py`.

    Raises:
        CourseError: the file cannot be read or contradicts itself.
    """
    name = STEM.fullmatch(path.stem)
    if name is None:
        raise CourseError(
            f"{path}: rename it; a notebook source is named `NN_name.py`, such as `01_leaves.py`."
        )
    text = read_text(path)
    parsed = _parsed(path, text)
    read = zip(parsed, _lines(text, parsed), strict=True)
    cells = [_cell(path, raw, line) for raw, line in read if raw["source"].strip()]
    title = _TITLE.match(cells[0].source) if cells and cells[0].role == "prose" else None
    if title is None or int(title["number"]) != int(name["number"]):
        raise CourseError(
            f"{path}: begin with a markdown cell whose first line is `# {int(name['number'])}. Title`."
        )
    questions = tuple(_questions(path, cells))
    answers = {question.id: question.answer for question in questions}
    written = [
        replace(cell, source=answers[cell.question or ""]) if cell.role == "question" else cell
        for cell in cells
    ]
    return Assignment(path.stem, path, title["title"].strip(), questions, tuple(written))


def _lines(text: str, cells: Iterable[Mapping[str, Any]]) -> Iterator[int]:
    """The line at which each cell's text begins, even if jupytext rewrote the text."""
    end = 0
    for cell in cells:
        first = cell["source"].partition("\n")[0]
        position = text.find(cell["source"], end) if cell["cell_type"] == "code" else -1
        begin = max(position if position >= 0 else text.find(first, end), end)
        end = begin + len(cell["source"] if position >= 0 else first)
        yield text.count("\n", 0, begin) + 1


def _cell(path: Path, raw: Mapping[str, Any], line: int) -> SourceCell:
    source: str = raw["source"]
    tags: list[str] = raw["metadata"].get("tags", [])
    if raw["cell_type"] == "markdown":
        return _markdown_cell(path, source, tags, line)
    if not tags:
        _require_python(path, line, source)
        return SourceCell("code", source, None, line)
    if tags == ["drawn"]:
        _require_drawing(path, line, source)
        return SourceCell("drawn", source, None, line)
    tag = _TAG.fullmatch(tags[0])
    if tag is None or len(tags) > 1 or tag["role"] == "afterword":
        raise CourseError(
            f"{path}, line {line - 1}: the tags {tags} of this cell mean nothing here;"
            ' write "question qK", "check qK" or "drawn".'
        )
    return SourceCell("question" if tag["role"] == "question" else "check", source, tag["question"], line)


def _markdown_cell(path: Path, source: str, tags: list[str], line: int) -> SourceCell:
    """A markdown cell; its tags say that it is an afterword, or which claims it teaches."""
    heading = heading_of(source)
    tag = _TAG.fullmatch(tags[0]) if len(tags) == 1 else None
    if tag and tag["role"] == "afterword":
        return SourceCell("afterword", " ".join(source.split()), tag["question"], line)
    claims = tuple(tag.removeprefix("claim ") for tag in tags if tag.startswith("claim "))
    if len(claims) < len(tags):
        raise CourseError(
            f"{path}, line {line - 1}: the tags {tags} of this text mean nothing here;"
            ' write "afterword qK" or "claim ID".'
        )
    return SourceCell("task" if heading else "prose", source, heading[0] if heading else None, line, claims)


def _require_python(path: Path, line: int, source: str) -> None:
    """Refuse a demonstration that does not parse, unless it has Jupyter's syntax."""
    try:
        ast.parse(source)
    except SyntaxError as error:
        if _JUPYTER_SYNTAX.search(source) is None:
            failed_line = line + (error.lineno or 1) - 1
            raise CourseError(f"{path}, line {failed_line}: {not_python(error)}.") from error


def _require_drawing(path: Path, line: int, source: str) -> None:
    """Refuse a cell tagged `drawn` without a comment for its caption, or without a call of `xray`."""
    _require_python(path, line, source)
    is_python = (
        _JUPYTER_SYNTAX.search(source) is None
    )  # otherwise it may not parse, so that build cannot run it
    match ast.parse(source).body if is_python else []:
        case [*_, ast.Expr(ast.Call(func=ast.Name("xray"), args=[], keywords=[_, *_]))] if source[0] == "#":
            return
    raise CourseError(
        f"{path}, line {line}: this cell is tagged `drawn`, so it must begin with a comment (the caption) and"
        " end with the named tensors to draw: `xray(loss=loss, w=w)`."
    )


def _questions(path: Path, cells: list[SourceCell]) -> Iterator[Question]:
    by_question: dict[str, list[SourceCell]] = {}
    for cell in cells:
        if cell.question is not None:
            by_question.setdefault(cell.question, []).append(cell)
    numbered = [identity for identity in by_question if identity != BONUS_TASK]
    in_order = [f"q{number}" for number in range(1, len(numbered) + 1)]
    if list(by_question) not in (in_order, [*in_order, BONUS_TASK]) or not numbered:
        raise CourseError(
            f"{path}: its questions are {', '.join(by_question) or 'none'}; number them q1, q2, ... in the"
            " order of their cells, and put the bonus task last."
        )
    first_users: dict[str, str] = {}
    for identity, question_cells in by_question.items():
        question = _question(path, identity, question_cells)
        first = first_users.setdefault(question.function, identity)
        if first != identity:
            raise CourseError(
                f"{path}, line {question_cells[1].line}, {identity}: `{question.function}` is what {first}"
                " asks for already; give it another name."
            )
        yield question


def _question(path: Path, identity: str, cells: list[SourceCell]) -> Question:
    """The question of some cells; raises CourseError if they break the format or contradict each other."""
    roles, where = [cell.role for cell in cells], f"{path}, line {cells[0].line}, {identity}"
    allowed = (["task", "question"], ["task", "question", "check"])
    if roles not in (*allowed, *([*order, "afterword"] for order in allowed)):
        raise CourseError(
            f"{where}: its cells are {', '.join(roles)}; write, in this order, one markdown cell that"
            f" begins `## {name_of(identity)} · Title`, one cell tagged `question {identity}`,"
            f" at most one tagged `check {identity}`, and at most one text tagged `afterword {identity}`."
        )
    title = cells[0].source.partition("\n")[0].partition(" · ")[2].strip()
    check = next((cell for cell in cells if cell.role == "check"), None)
    afterword = next((cell.source for cell in cells if cell.role == "afterword"), None)
    place = Place(path, cells[1].line, identity)
    answer, starter_code = _split(place, cells[1].source)
    definition = _definition(place, "starter code", starter_code)
    seen, expected = _signatures(definition), _signatures(_definition(place, "answer", answer))
    is_same_name = definition.name in expected  # a method that only one of them has does not matter
    if not is_same_name or any(seen[name] != expected[name] for name in seen.keys() & expected):
        raise CourseError(f"{place}: starter code and reference have different signatures; make them equal.")
    name = definition.name
    if ast.get_docstring(definition) is None:
        raise CourseError(
            f"{place}: `{name}` has no docstring in the starter code; describe its arguments and result."
        )
    if check:
        begin = Place(path, check.line, identity)
        _validate_check(begin, check.source, name, has_afterword=afterword is not None)
    public_check = check.source if check else None
    return Question(
        identity, title, name, _source(starter_code), _source(answer), public_check, afterword, place
    )


def _parse(where: Place, part: str, source: str, lines: Sequence[int] = ()) -> list[ast.stmt]:
    """The statements of a part of a cell; raises CourseError if it is not Python.

    `lines` has the line of the cell for each line of `source`, unless both are the same.
    """
    try:
        return ast.parse(source).body
    except SyntaxError as error:
        numbers = lines or range(1, len(source.splitlines()) + 1)
        line = numbers[min(error.lineno or 1, len(numbers)) - 1]
        raise CourseError(f"{where.at(line)}: in the {part}, {not_python(error)}.") from error


def _split(where: Place, source: str) -> tuple[_Part, _Part]:
    """The answer and the starter code of a question cell, which share every line outside the markers."""
    answer: _Part = {}
    starter_code: _Part = {}
    previous = _END
    for number, line in enumerate(source.splitlines(), start=1):
        marker = line.strip()
        if marker in _FOLLOWS:
            if previous != _FOLLOWS[marker]:
                raise CourseError(
                    f"{where.at(number)}: `{marker}` follows `{previous}`;"
                    " write BEGIN SOLUTION, STUB and END SOLUTION in this order."
                )
            previous = marker
        elif previous == _STUB:
            code = line.lstrip()
            if code not in {"", "#"} and not code.startswith("# "):
                said = f"the line `{code}` of the starter code is not commented out; start it with `# `."
                raise CourseError(f"{where.at(number)}: {said}")
            starter_code[number] = "" if code in {"", "#"} else line.replace("# ", "", 1)
        else:
            answer[number] = line
            if previous == _END:
                starter_code[number] = line
    if previous != _END or answer == starter_code:
        raise CourseError(
            f"{where}: put the answer between `# BEGIN SOLUTION`, `# STUB` and `# END SOLUTION`."
        )
    return answer, starter_code


def _source(part: _Part) -> str:
    return "\n".join(part.values())


def _definition(where: Place, name: str, part: _Part) -> _Definition:
    match _parse(where, name, _source(part), [*part]):
        case [ast.FunctionDef() | ast.ClassDef() as definition]:
            return definition
    raise CourseError(f"{where}: the {name} must be exactly one `def` or `class`, alone in its cell.")


def _signatures(definition: _Definition) -> dict[str, str]:
    """The signature of a function, or of a class and its own methods, by name."""
    if isinstance(definition, ast.FunctionDef):
        return {definition.name: f"def {ast.unparse(definition.args)}"}
    bases = ", ".join(ast.unparse(base) for base in definition.bases)
    methods = (node for node in definition.body if isinstance(node, ast.FunctionDef))
    return {definition.name: f"class {bases}"} | {method.name: ast.unparse(method.args) for method in methods}


def _validate_check(where: Place, source: str, function: str, *, has_afterword: bool = False) -> None:
    """Raise CourseError for a check cell that Otter cannot run, or that has no message for students.

    `function` is the parameter of the check, `where` the beginning of the check cell.
    """
    statements = _parse(where, "check cell", source)
    functions = [node for node in statements if isinstance(node, ast.FunctionDef)]
    tests = [node for node in functions if node.name.startswith("test_") and not node.decorator_list]
    if not tests or len(tests) < len(statements):
        raise CourseError(f"{where}: the check cell needs a `def test_...`, and holds only such functions.")
    if has_afterword and len(tests) > 1:  # otherwise Otter shows it when the last of them passes
        raise CourseError(f"{where}: a question with an afterword has one test; put its checks into one.")
    for test in tests:
        name = f"{where.at(test.lineno)}, {test.name}"
        if ast.unparse(test.args) != function:
            raise CourseError(f"{name}: its one parameter must be `{function}`; Otter passes it by name.")
        if ast.get_docstring(test) is None:
            raise CourseError(f"{name}: write what must hold as its docstring; students read it.")
        for node in ast.walk(test):
            if isinstance(node, ast.Assert) and node.msg is None:
                place, asked = f"{where.at(node.lineno)}, {test.name}", ast.unparse(node.test)
                raise CourseError(f"{place}: give `assert {asked}` a message; students read it.")
