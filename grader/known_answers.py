"""Outside: reads a file of known answers as text."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import CourseError
from grader.filled import filled_statements, questions_asked
from grader.notebook import Cell

Named = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Answer:
    """One known answer.

    Attributes:
        name: what its author called it.
        question: id of the question.
        fails: names of the checks it must fail; None for an accepted answer.
        line: where its decorator stands.
        cells: a notebook that gives this answer.
        public: whether it is wrong, and yet the public check passes it.
        stops: the class of the error with which it is meant to stop, or None.
    """

    name: str
    question: str
    fails: frozenset[str] | None
    line: int
    cells: tuple[Cell, ...]
    public: bool = False
    stops: str | None = None


@dataclass(frozen=True)
class Equal:
    """Edits that leave answers right; as text, where they are written down.

    Attributes:
        question: the id of the question.
        edits: each as ``doctor --mutants`` names it.
        answers: names of the answers meant; all where there is none.
        line: where it stands.
    """

    question: str
    edits: tuple[str, ...]
    answers: tuple[str, ...]
    line: int

    def __str__(self) -> str:
        return f"{self.question}, equal (line {self.line})"


def read_equals(path: Path, functions: Mapping[str, str]) -> list[Equal]:
    """Read the edits that are written down as equal.

    Args:
        path: the file of answers.
        functions: the function's name for each question's id.

    Raises:
        CourseError: the file is missing, or one of them says too little.
    """
    calls = (_equal_call(node) for node in _statements(path, functions))
    return [_equal(call, functions, path) for call in calls if call]


def read_answers(path: Path, functions: Mapping[str, str]) -> list[Answer]:
    """Read the known answers of an assignment.

    Args:
        path: the file.
        functions: the function's name for each question's id.

    Raises:
        CourseError: the file is missing, or an answer belongs to no question.
    """
    marked = [(node, mark_of(node)) for node in _statements(path, functions)]
    preamble = "\n".join(ast.unparse(node) for node, mark in marked if mark is None and not _is_ours(node))
    lines: dict[str, int] = {}
    for node, mark in marked:
        if (
            mark is not None
            and isinstance(node, Named)
            and lines.setdefault(node.name, node.lineno) != node.lineno
        ):
            raise CourseError(
                f"{path}, line {node.lineno}: two answers are called {node.name} (the first in line"
                f" {lines[node.name]}); give each a name of its own"
            )
    return [_answer(node, mark, preamble, functions, path) for node, mark in marked if mark is not None]


def _statements(path: Path, functions: Mapping[str, str]) -> list[ast.stmt]:
    """What stands in the file, without blanks and without what belongs to questions that are left out."""
    others = questions_asked(path) - set(functions)
    return [node for node in filled_statements(path) if _question_said(node) not in others]


def _question_said(node: ast.stmt) -> str | None:
    """The question that an answer, or a call at the top of the file, names first."""
    call = mark_of(node) or (node.value if isinstance(node, ast.Expr) else None)
    match call:
        case ast.Call(args=[ast.Constant(value=str(question)), *_]):
            return question
    return None


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
        raise CourseError(f"{where}: {_no_question(question, functions)}")
    return Equal(question, tuple(edits), tuple(said.get("answers", ())), call.lineno)


def _no_question(question: Any, functions: Mapping[str, str]) -> str:
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
    """Whether a mark is that of a wrong answer."""
    return isinstance(mark.func, ast.Name) and mark.func.id == "wrong"


def _is_ours(node: ast.stmt) -> bool:
    """Whether a statement is for this file only: its docstring, and the import of the decorators."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "grader.answers"
    return _equal_call(node) is not None or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _answer(node: Any, mark: ast.Call, preamble: str, functions: Mapping[str, str], path: Path) -> Answer:
    where = f"{path}, line {mark.lineno}"
    try:
        question = ast.literal_eval(mark.args[0])
        said = {keyword.arg: ast.literal_eval(keyword.value) for keyword in mark.keywords}
    except (ValueError, IndexError):
        raise CourseError(
            f'{where}: write @accepted("q1") or @wrong("q1", fails=[...]) with literals'
        ) from None
    if question not in tuple(functions):
        raise CourseError(f"{where}: {_no_question(question, functions)}")
    fails = frozenset(said["fails"]) if isinstance(said.get("fails"), list) else None
    if is_wrong(mark) != (fails is not None) or (fails is None and {"public", "stops"} & said.keys()):
        raise CourseError(f"{where}: a wrong answer, and only a wrong one, says which checks it fails")
    stops = said.get("stops")
    if not isinstance(stops, str | None):
        raise CourseError(f'{where}: stops= is the name of an error, such as "RuntimeError"')
    node.decorator_list.remove(mark)
    sources = (preamble, ast.unparse(node), f"{functions[question]} = {node.name}")
    cells = tuple(Cell(number, source) for number, source in enumerate(sources, start=1))
    return Answer(node.name, question, fails, mark.lineno, cells, said.get("public") is True, stops)
