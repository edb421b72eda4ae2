"""Reads a file of known answers as text; it is never imported, because it uses torch."""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grader.course.author_file import read_text
from grader.course.course import Course
from grader.course.unfinished import filled_statements, questions_asked
from grader.doctor.answer_edits import Original, edited_source, edits_call, edits_in
from grader.doctor.source_text import lines_of
from grader.errors import CourseError
from grader.notebooks.reader import Cell, cells_of
from grader.text import did_you_mean

Named = ast.FunctionDef | ast.ClassDef
REFERENCE = "reference"  # the name of the reference among the answers


@dataclass(frozen=True)
class Answer:
    """A known answer.

    Attributes:
        name: its author's name for it.
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


def read_answers(
    path: Path, functions: Mapping[str, str], references: Mapping[str, str] | None = None
) -> list[Answer]:
    """Read the known answers of an assignment.

    Args:
        path: the file.
        functions: the function's name by the question's id.
        references: the reference's source by the question's id; answers may be edits of it.

    Raises:
        CourseError: the file is missing, an answer belongs to no question, or an edit cannot be made.
    """
    everything = filled_statements(path)
    _refuse_shared_names(path, everything)
    statements = _about(everything, path, functions)
    shared = [node for node in statements if not _is_ours(node)]
    preamble = "\n".join(map(ast.unparse, shared))
    shared_lines = lines_of(shared, preamble)
    originals = _originals(path, statements, functions, references or {})
    found = []
    for node in statements:
        mark, edits = mark_of(node), edits_call(node)
        if mark is not None and isinstance(node, Named):
            found.append(_marked(node, mark, path))
        elif edits is not None:
            found += _edited(edits, originals, functions, path)
    answers = [_answer(one, preamble, functions, path) for one in found]
    return [
        replace(answer, lines=(shared_lines, one.lines)) for one, answer in zip(found, answers, strict=True)
    ]


def answers_of(course: Course, stem: str, question: str | None = None) -> list[Answer]:
    """The known answers of an assignment, or of a question of it; CourseError as in `read_answers`."""
    questions = [q for q in course.assignment(stem).questions if question in {None, q.id}]
    functions = {q.id: q.function for q in questions}
    references = {q.id: q.answer for q in questions}
    return read_answers(course.answers_file(stem), functions, references)


def statements_about(path: Path, functions: Mapping[str, str]) -> list[ast.stmt]:
    """What stands in the file, without blanks and without what belongs to questions that are left out."""
    return _about(filled_statements(path), path, functions)


def _about(statements: Sequence[ast.stmt], path: Path, functions: Mapping[str, str]) -> list[ast.stmt]:
    others = questions_asked(path) - set(functions)
    return [node for node in statements if _question_said(node) not in others]


def _refuse_shared_names(path: Path, statements: Sequence[ast.stmt]) -> None:
    """An answer is known by its name, whatever its question: to ``--accept``, above all."""
    known: dict[str, tuple[str | None, int]] = {}
    for name, question, line in (named for node in statements for named in _named(node)):
        if name in known:
            other, first = known[name]
            raise CourseError(
                f"{path}, line {line}: two answers are called {name}, this one to {question} and one to"
                f" {other} in line {first}; give each a name of its own"
            )
        known[name] = question, line


def _named(node: ast.stmt) -> Iterator[tuple[str, str | None, int]]:
    """The names of the answers that a statement gives, with their question and line."""
    mark, question = mark_of(node), _question_said(node)
    if mark is not None and isinstance(node, Named):
        yield node.name, question, mark.lineno
    match edits_call(node):
        case ast.Call(args=[_, ast.Dict(keys=names)]):
            yield from ((str(n.value), question, n.lineno) for n in names if isinstance(n, ast.Constant))


def _question_said(node: ast.stmt) -> str | None:
    """The question that an answer, or a call at the top of the file, names first."""
    call = mark_of(node) or (node.value if isinstance(node, ast.Expr) else None)
    match call:
        case ast.Call(args=[ast.Constant(value=str(question)), *_]):
            return question
    return None


def no_question(question: Any, functions: Mapping[str, str]) -> str:
    """That there is no such question, and which there are."""
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


def _is_ours(node: ast.stmt) -> bool:
    """Whether a statement is for this file only: its docstring, the words about answers and their import."""
    match node:
        case ast.ImportFrom(module="grader.answers") | ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="equal"))):
            return True
    return mark_of(node) is not None or edits_call(node) is not None


@dataclass(frozen=True)
class _Written:
    """An answer as it stands in the file; `lines` gives the file's line by the line of `source`."""

    name: str
    question: Any
    line: int
    source: str
    is_wrong: bool
    said: dict[str, Any]
    lines: dict[int, int]


def _marked(node: ast.FunctionDef | ast.ClassDef, mark: ast.Call, path: Path) -> _Written:
    """A definition that bears a mark."""
    question, said = _literals(mark, path, '@accepted("q1") or @wrong("q1", fails=[...])')
    node.decorator_list.remove(mark)
    source = ast.unparse(node)
    return _Written(node.name, question, mark.lineno, source, is_wrong(mark), said, lines_of([node], source))


def _edited(
    call: ast.Call, originals: Mapping[tuple[Any, str], Original], functions: Mapping[str, str], path: Path
) -> Iterator[_Written]:
    """The answers of a table of edits."""
    question, named = _literals(
        call, path, 'wrong_edits("q1", {...}) or wrong_edits("q1", {...}, of="a_name")'
    )
    of = named.get("of", REFERENCE)
    known = {name for asked, name in originals if asked == question}
    if question not in tuple(functions):
        raise CourseError(f"{path}, line {call.lineno}: {no_question(question, functions)}")
    if of not in known:
        near = did_you_mean(str(of), known)
        raise CourseError(f"{path}, line {call.lineno}: {question} has no accepted answer {of!r}: {near}")
    wrong = is_wrong(call)
    for edited in edits_in(call, path):
        said = {"fails": [], **edited.said} if wrong else edited.said
        source = edited_source(originals[question, of], edited, path)
        lines = dict.fromkeys(range(1, len(source.splitlines()) + 1), edited.line)
        yield _Written(edited.name, question, edited.line, source, wrong, said, lines)


def _literals(call: ast.Call, path: Path, form: str) -> tuple[Any, dict[str, Any]]:
    """The question that a mark names, and all that it says by name."""
    try:
        return ast.literal_eval(call.args[0]), {k.arg or "": ast.literal_eval(k.value) for k in call.keywords}
    except (ValueError, IndexError):
        raise CourseError(f"{path}, line {call.lineno}: write {form} with literals") from None


def _answer(one: _Written, preamble: str, functions: Mapping[str, str], path: Path) -> Answer:
    where, said = f"{path}, line {one.line}", one.said
    if one.question not in tuple(functions):
        raise CourseError(f"{where}: {no_question(one.question, functions)}")
    fails = frozenset(said["fails"]) if isinstance(said.get("fails"), list) else None
    if one.is_wrong != (fails is not None) or (fails is None and {"public", "stops"} & said.keys()):
        raise CourseError(f"{where}: a wrong answer, and only a wrong one, says which checks it fails")
    stops = said.get("stops")
    if not isinstance(stops, str | None):
        raise CourseError(f'{where}: stops= is the name of an error, such as "RuntimeError"')
    sources = (preamble, one.source, f"{functions[one.question]} = {one.name}")
    cells = cells_of(sources)
    return Answer(one.name, one.question, fails, one.line, cells, said.get("public") is True, stops)


def _originals(
    path: Path, statements: list[ast.stmt], functions: Mapping[str, str], references: Mapping[str, str]
) -> dict[tuple[Any, str], Original]:
    """What can be edited, by question and name: references and accepted answers, as they are written."""
    found: dict[tuple[Any, str], Original] = {
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
                found[question, node.name] = Original(node.name, node.name, "".join([*above, *below]))
    return found
