"""Reads a file of known answers as text; it is never imported, because it uses torch."""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.course.author_file import filled_statements, questions_asked, read_text
from grader.course.course import Course
from grader.doctor.answer_edits import Original, edited_source, edits_call, edits_in
from grader.doctor.source_text import lines_of
from grader.errors import CourseError
from grader.notebooks.reader import Cell, cells_of
from grader.text import did_you_mean

Named = ast.FunctionDef | ast.ClassDef
REFERENCE = "reference"  # the name of the reference among the answers


@dataclass(frozen=True)
class Answer:
    """A known answer; as text, its question, name and line.

    Attributes:
        question: the id of its question.
        fails: the names of the checks it must fail; None for an accepted answer.
        line: of its decorator.
        cells: a notebook that gives this answer.
        public: whether it is wrong and still passes the public check.
        stops: the class of the error with which it is meant to stop, or None.
        lines: for each cell from the file, the file's line by the cell's line.
    """

    name: str
    question: str
    fails: frozenset[str] | None
    line: int
    cells: tuple[Cell, ...]
    public: bool = False
    stops: str | None = None
    lines: tuple[Mapping[int, int], ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return f"{self.question}, {self.name} (line {self.line})"


def read_answers(
    path: Path, functions: Mapping[str, str], references: Mapping[str, str] | None = None
) -> list[Answer]:
    """Read the known answers of an assignment's questions.

    `functions` has the function's name, `references` the reference's source, which answers may edit, by the
    question's id.

    Raises:
        CourseError: the file is missing, an answer belongs to no question, or an edit cannot be made.
    """
    everything = filled_statements(path)
    _refuse_shared_names(path, everything)
    statements = _about(everything, path, functions)
    shared = [node for node in statements if not _is_bookkeeping(node)]
    preamble = "\n".join(map(ast.unparse, shared))
    shared_lines = lines_of(shared, preamble)
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


def statements_about(path: Path, functions: Mapping[str, str]) -> list[ast.stmt]:
    """The statements of the file, without blanks and without those of questions that are left out."""
    return _about(filled_statements(path), path, functions)


def _about(statements: Sequence[ast.stmt], path: Path, functions: Mapping[str, str]) -> list[ast.stmt]:
    others = questions_asked(path) - set(functions)
    return [node for node in statements if _question_of(node) not in others]


def _refuse_shared_names(path: Path, statements: Sequence[ast.stmt]) -> None:
    """Refuse two answers of the same name, because ``--accept`` knows an answer by its name alone."""
    users: dict[str, tuple[str | None, int]] = {}
    for name, question, line in (named for node in statements for named in _named(node)):
        if name in users:
            other, first = users[name]
            raise CourseError(
                f"{path}, line {line}: two answers are called {name}, this one to {question} and one to"
                f" {other} in line {first}; give each a name of its own"
            )
        users[name] = question, line


def _named(node: ast.stmt) -> Iterator[tuple[str, str | None, int]]:
    """The names of a statement's answers, with their question and line."""
    mark, question = mark_of(node), _question_of(node)
    if mark is not None and isinstance(node, Named):
        yield node.name, question, mark.lineno
    match edits_call(node):
        case ast.Call(args=[_, ast.Dict(keys=names)]):
            yield from ((str(n.value), question, n.lineno) for n in names if isinstance(n, ast.Constant))


def _question_of(node: ast.stmt) -> str | None:
    """The question that an answer, or a call at the top of the file, names first."""
    call = mark_of(node) or (node.value if isinstance(node, ast.Expr) else None)
    match call:
        case ast.Call(args=[ast.Constant(value=str(question)), *_]):
            return question
    return None


def no_question(question: Any, functions: Mapping[str, str]) -> str:
    """A clause: there is no such question, but others."""
    return f"the assignment has no question {question!r}, only {', '.join(functions)}"


def mark_of(node: ast.stmt) -> ast.Call | None:
    """The decorator that makes a definition an answer."""
    if isinstance(node, Named):
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else None
            if isinstance(called, ast.Name) and called.id in {"accepted", "wrong"}:
                return decorator  # type: ignore[return-value]
    return None


def is_wrong(mark: ast.Call) -> bool:
    """Whether a mark, or a table of edits, is that of wrong answers."""
    return isinstance(mark.func, ast.Name) and mark.func.id in {"wrong", "wrong_edits"}


def _is_bookkeeping(node: ast.stmt) -> bool:
    """Whether a statement is no part of answers' notebooks: docstring, answers, `equal`, and their import."""
    match node:
        case ast.ImportFrom(module="grader.answers") | ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="equal"))):
            return True
    return mark_of(node) is not None or edits_call(node) is not None


@dataclass(frozen=True)
class _Definition:
    """An answer in its file; `lines` gives the file's line by the line of `source`."""

    name: str
    question: Any
    line: int
    source: str
    is_wrong: bool
    options: dict[str, Any]
    lines: dict[int, int]


def _marked(node: ast.FunctionDef | ast.ClassDef, mark: ast.Call, path: Path) -> _Definition:
    question, options = _literals(mark, path, '@accepted("q1") or @wrong("q1", fails=[...])')
    node.decorator_list.remove(mark)
    source, wrong = ast.unparse(node), is_wrong(mark)
    return _Definition(node.name, question, mark.lineno, source, wrong, options, lines_of([node], source))


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
    wrong = is_wrong(call)
    for edited in edits_in(call, path):
        options = {"fails": [], **edited.options} if wrong else edited.options
        source = edited_source(originals[question, of], edited, path)
        lines = dict.fromkeys(range(1, len(source.splitlines()) + 1), edited.line)
        yield _Definition(edited.name, question, edited.line, source, wrong, options, lines)


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
    where, options = f"{path}, line {definition.line}", definition.options
    name, question = definition.name, definition.question
    if question not in tuple(functions):
        raise CourseError(f"{where}: {no_question(question, functions)}")
    fails = frozenset(options["fails"]) if isinstance(options.get("fails"), list) else None
    is_unclear = fails is None and {"public", "stops"} & options.keys()
    if definition.is_wrong != (fails is not None) or is_unclear:
        raise CourseError(f"{where}: a wrong answer, and only a wrong one, says which checks it fails")
    stops, public = options.get("stops"), options.get("public") is True
    if not isinstance(stops, str | None):
        raise CourseError(f'{where}: stops= is the name of an error, such as "RuntimeError"')
    cells = cells_of((preamble, definition.source, f"{functions[question]} = {name}"))
    lines = (preamble_lines, definition.lines)
    return Answer(name, question, fails, definition.line, cells, public, stops, lines)


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
