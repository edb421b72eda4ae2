"""Reads a file of known answers as text; it is never imported, because it uses torch."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.checks.diagnosis import quoted
from grader.course.author_file import read_text
from grader.course.course import Course
from grader.doctor.answer_edits import Original, edited_source, edits_in
from grader.doctor.answer_file import (
    Named,
    edits_call,
    is_bookkeeping,
    is_wrong,
    mark_of,
    no_question,
    statements_about,
)
from grader.errors import CourseError
from grader.notebooks.reader import Cell, cells_of
from grader.text import did_you_mean

REFERENCE = "reference"  # the name of the reference among the answers

#: `code cell 2, line 3` and `code cell 2): `y.backward()``, as `grader.checks.diagnosis` says them.
_PLACE = re.compile(r"code cell (?P<cell>\d+)(?:, line (?P<line>\d+)|(?=\)?: (?P<quoted>`[^`]*`)))")


@dataclass(frozen=True)
class Answer:
    """A known answer; as text, its question, name and line.

    Attributes:
        question: the id of its question.
        is_wrong: whether it must fail a check; else it must pass all.
        line: of its decorator.
        cells: a notebook that gives this answer.
        lines: for each cell from the file, the file's line by the cell's line.
    """

    name: str
    question: str
    is_wrong: bool
    line: int
    cells: tuple[Cell, ...]
    lines: tuple[Mapping[int, int], ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return f"{self.question}, {self.name} (line {self.line})"

    def in_file(self, text: str, path: Path) -> str:
        """A diagnosis in which the answer's file and line replace a cell of its notebook."""

        def placed(match: re.Match[str]) -> str:
            cell = int(match["cell"])
            if not 0 < cell <= len(self.lines):
                return match[0]
            lines, source = self.lines[cell - 1], self.cells[cell - 1].source
            line = int(match["line"]) if match["line"] else _line_of(match["quoted"], source, lines)
            return f"{path.name}, line {lines[line]}" if line in lines else match[0]

        return _PLACE.sub(placed, text)


def _line_of(quote: str, source: str, lines: Mapping[int, int]) -> int:
    """The first line of a source, among `lines`, that begins with a quotation; 0 if none does."""
    wanted = quote.strip("`")
    for number, line in enumerate(source.splitlines(), start=1):
        if number in lines and wanted and quoted(line.strip()).strip("`").startswith(wanted):
            return number
    return 0


def read_answers(
    path: Path, functions: Mapping[str, str], references: Mapping[str, str] | None = None
) -> list[Answer]:
    """The known answers in a file.

    Args:
        functions: the name of each question's function, by the question's id.
        references: the source of each reference, which answers may edit.

    Raises:
        CourseError: the file is missing, an answer belongs to no question, or an edit cannot be made.
    """
    statements = statements_about(path, functions)
    shared = [node for node in statements if not is_bookkeeping(node)]
    preamble = "\n".join(map(ast.unparse, shared))
    shared_lines = _lines_of(shared, preamble)
    originals = _originals(path, statements, functions, references or {})
    definitions = []
    for node in statements:
        mark, edits = mark_of(node), edits_call(node)
        if mark is not None and isinstance(node, Named):
            definitions.append(_marked(node, mark, path))
        elif edits is not None:
            definitions += _edited(edits, originals, functions, path)
    return [_answer(definition, preamble, shared_lines, functions, path) for definition in definitions]


def answers_of(course: Course, stem: str, question: str | None = None) -> list[Answer]:
    """The known answers of an assignment, or of a question of it; CourseError as in `read_answers`."""
    questions = [q for q in course.assignment(stem).questions if question in {None, q.id}]
    functions = {q.id: q.function for q in questions}
    references = {q.id: q.answer for q in questions}
    return read_answers(course.answers_file(stem), functions, references)


@dataclass(frozen=True)
class _Definition:
    """An answer in its file; `lines` has the file's line by the line of `source`."""

    name: str
    question: Any
    line: int
    source: str
    is_wrong: bool
    lines: dict[int, int]


def _marked(node: Named, mark: ast.Call, path: Path) -> _Definition:
    form = '@accepted("q1") or @wrong("q1")'
    question, options = _literals(mark, path, form)
    if options:
        raise CourseError(
            f"{path}, line {mark.lineno}: write {form}; --accept writes down which checks it fails"
        )
    node.decorator_list.remove(mark)
    source, lines = ast.unparse(node), _lines_of([node], ast.unparse(node))
    return _Definition(node.name, question, mark.lineno, source, is_wrong(mark), lines)


def _edited(
    call: ast.Call, originals: Mapping[tuple[Any, str], Original], functions: Mapping[str, str], path: Path
) -> Iterator[_Definition]:
    form = 'wrong_edits("q1", {...}) or wrong_edits("q1", {...}, of="a_name")'
    question, named = _literals(call, path, form)
    of = named.get("of", REFERENCE)
    names = {name for asked, name in originals if asked == question}
    if question not in tuple(functions):
        raise CourseError(f"{path}, line {call.lineno}: {no_question(question, functions)}")
    if of not in names:
        near = did_you_mean(str(of), names)
        raise CourseError(f"{path}, line {call.lineno}: {question} has no accepted answer {of!r}: {near}")
    for edited in edits_in(call, path):
        source = edited_source(originals[question, of], edited, path)
        lines = dict.fromkeys(range(1, len(source.splitlines()) + 1), edited.line)
        yield _Definition(edited.name, question, edited.line, source, is_wrong(call), lines)


def _literals(call: ast.Call, path: Path, form: str) -> tuple[Any, dict[str, Any]]:
    """The question that a mark names, and its named arguments."""
    try:
        return ast.literal_eval(call.args[0]), {k.arg or "": ast.literal_eval(k.value) for k in call.keywords}
    except (ValueError, IndexError):
        raise CourseError(f"{path}, line {call.lineno}: write {form} with literals") from None


def _answer(
    definition: _Definition,
    preamble: str,
    preamble_lines: dict[int, int],
    functions: Mapping[str, str],
    path: Path,
) -> Answer:
    name, question = definition.name, definition.question
    if question not in tuple(functions):
        raise CourseError(f"{path}, line {definition.line}: {no_question(question, functions)}")
    cells = cells_of((preamble, definition.source, f"{functions[question]} = {name}"))
    lines = (preamble_lines, definition.lines)
    return Answer(name, question, definition.is_wrong, definition.line, cells, lines)


def _lines_of(nodes: Sequence[ast.stmt], source: str) -> dict[int, int]:
    """For each line of statements that `ast.unparse` wrote, the line of its original in the file."""
    lines: dict[int, int] = {}
    for original, unparsed in zip(nodes, ast.parse(source).body, strict=False):
        for old, new in zip(ast.walk(original), ast.walk(unparsed), strict=False):
            if isinstance(old, ast.stmt | ast.expr) and isinstance(new, ast.stmt | ast.expr):
                lines.setdefault(new.lineno, old.lineno)
    return lines


def _originals(
    path: Path, statements: list[ast.stmt], functions: Mapping[str, str], references: Mapping[str, str]
) -> dict[tuple[Any, str], Original]:
    """The references and accepted answers, which can be edited, by question and name."""
    originals: dict[tuple[Any, str], Original] = {
        (question, REFERENCE): Original(functions[question], f"the reference of {question}", source)
        for question, source in references.items()
    }
    lines = io.StringIO(read_text(path)).readlines()
    for node in statements:
        match mark_of(node), node:
            case ast.Call(
                func=ast.Name(id="accepted"), args=[ast.Constant(question)]
            ) as mark, ast.FunctionDef() | ast.ClassDef():
                first = min(decorator.lineno for decorator in node.decorator_list)
                above, below = lines[first - 1 : mark.lineno - 1], lines[mark.end_lineno : node.end_lineno]
                originals[question, node.name] = Original(node.name, node.name, "".join([*above, *below]))
    return originals
