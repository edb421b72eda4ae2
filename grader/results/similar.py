"""Work that several students handed in: the same notebook, or answers that are equal but for their names.

Answers are compared as syntax trees without comments, docstrings, annotations and layout, and with every name
that an answer binds itself numbered in the order in which names appear. Nothing is evaluated. Many equal
answers mean nothing, so these do not count:

* a question that was left as it was handed out;
* an answer of fewer nodes than `FEWEST_NODES`, not counting the statements that the stub has, too: there is
  only one way to write a line or two;
* an answer that more than a quarter of the students gave who answered the question, where eight or more did;
* an answer with full points, unless its students also failed a check of another question for the same reason,
  for which that quarter counts, too.

A notebook of the same bytes counts as soon as a question of it was answered: what two students save differs
at least in its outputs.
"""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from grader.notebooks.definitions import without_magics
from grader.notebooks.reader import Cell
from grader.results.model import QuestionResult, Result
from grader.results.statistics import mistake_of, told

FEWEST_NODES = 30
_LONGEST_CELL = 32 * 1024  # characters; the syntax tree of a longer one would take much memory
_COMMON, _LEAST_COMMON = 0.25, 8  # part of the students, and how many they have to be

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)


@dataclass(frozen=True)
class SameWork:
    """Students who handed in the same.

    Attributes:
        questions: of which the answers are equal; none where the notebooks are the same file.
    """

    assignment: str
    questions: tuple[str, ...]
    students: tuple[str, ...]


def with_digests(result: Result, cells: Sequence[Cell], starter_code: Mapping[str, str]) -> Result:
    """The result of a notebook with these cells, with the digest of each answer.

    Args:
        starter_code: the cells of the functions as students get them, by the functions' names.
    """
    sources = {cell.number: cell.source for cell in cells}

    def digest_of(question: QuestionResult) -> str:
        source = sources.get(question.cell or 0, "") if question.status == "answered" else ""
        return digest(source, question.function, starter_code.get(question.function, ""))

    return replace(result, questions=tuple(replace(q, digest=digest_of(q)) for q in result.questions))


def answered(result: Result) -> list[QuestionResult]:
    """The questions that were answered; the end task is none."""
    return [question for question in result.questions if question.status == "answered"]


def digest(source: str, name: str, stub: str = "") -> str:
    """A digest of the last definition of a name in a cell; equal for answers that are equal but for names.

    Empty where Python cannot parse the cell, where it does not define the name at its margin, or where too
    little of the answer is the student's own.
    """
    try:
        answer = _definition(source, name)
        if answer is None or _own_nodes(answer, _handed_out(stub, name)) < FEWEST_NODES:
            return ""
        renamed = _Renamed({*_bound_names(answer)}).visit(answer)
        return hashlib.sha256(ast.dump(renamed).encode()).hexdigest()[:32]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _definition(source: str, name: str) -> ast.AST | None:
    """The last function or class of a name in a cell, without what only a reader sees."""
    if name not in source or len(source) > _LONGEST_CELL:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as those of a backslash in a text
        tree = ast.parse(without_magics(source))
    found = [node for node in tree.body if isinstance(node, _DEFINITIONS) and node.name == name]
    return _Bare().visit(found[-1]) if found else None


@lru_cache(maxsize=1_000)
def _handed_out(stub: str, name: str) -> Counter[str]:
    """The statements of a stub, each as text, which the answers of a class are compared with."""
    tree = _definition(stub, name)
    return Counter(text for text, _ in _statements(tree)) if tree else Counter()


def _own_nodes(answer: ast.AST, handed_out: Counter[str]) -> int:
    """How many nodes the statements of an answer have that do not stand in what was handed out."""
    left, own = handed_out.copy(), 0
    for text, nodes in _statements(answer):
        if left[text]:
            left[text] -= 1
        else:
            own += nodes
    return own


def _statements(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Each statement as text, without the statements inside it, and how many nodes it has."""
    for statement in (node for node in ast.walk(tree) if isinstance(node, ast.stmt)):
        parts = [
            part
            for part in ast.iter_child_nodes(statement)
            if not isinstance(part, (ast.stmt, ast.excepthandler, ast.match_case))
        ]
        text = f"{type(statement).__name__} {getattr(statement, 'name', '')} {[*map(ast.dump, parts)]}"
        nodes = (node for part in parts for node in ast.walk(part))
        yield text, 1 + sum(not isinstance(node, ast.expr_context) for node in nodes)


class _Bare(ast.NodeTransformer):
    """Takes away what only a reader of the code sees: texts that stand alone, and annotations."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        return self.visit(ast.Assign([node.target], node.value)) if node.value else None

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def _bound_names(answer: ast.AST) -> Iterator[str]:
    """The names that an answer binds, in whatever scope of it; methods are attributes, and not among them."""
    methods = {
        statement
        for node in ast.walk(answer)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, _FUNCTIONS)
    }
    for node in ast.walk(answer):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                if node not in methods:
                    yield name


class _Renamed(ast.NodeTransformer):
    """Numbers some names in the order in which they appear, those of a function in this function only."""

    def __init__(self, bound: set[str]) -> None:
        self._bound = bound
        self._numbers: dict[str, str] = {}

    def generic_visit(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.arg(arg=name) if name in self._bound:
                node.arg = self._number(name)
            case ast.Name(id=name) if name in self._bound:
                node.id = self._number(name)
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
            ) if name in self._bound:
                node.name = self._number(name)
        if not isinstance(node, (*_FUNCTIONS, ast.Lambda)):
            return super().generic_visit(node)
        around, self._numbers = self._numbers, {**self._numbers}
        renamed = super().generic_visit(node)
        self._numbers = around
        return renamed

    def _number(self, name: str) -> str:
        return self._numbers.setdefault(name, f"_{len(self._numbers)}")


def same_work(results: Iterable[Result]) -> list[SameWork]:
    """Who submitted the same, by assignment: the same notebooks first, then equal answers."""
    by_stem: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        if result.assignment and not result.error and answered(result):
            by_stem[result.assignment].append(result)
    found = []
    for stem, of_stem in sorted(by_stem.items()):
        files = _files(of_stem)
        found += [SameWork(stem, (), students) for students in files]
        answers = _answers(of_stem)
        known = [{*students} for students in files]
        found += [
            SameWork(stem, tuple(questions), students)
            for students, questions in answers.items()
            if not any({*students} <= group for group in known)
        ]
    return found


def _files(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """The students of each notebook that several handed in."""
    students: dict[str, list[str]] = defaultdict(list)
    for result in results:
        if result.provenance.notebook_sha256:
            students[result.provenance.notebook_sha256].append(result.student)
    return [tuple(group) for group in students.values() if len(group) > 1]


def _answers(results: Sequence[Result]) -> dict[tuple[str, ...], list[str]]:
    """The questions in which the answers of some students are equal, by these students."""
    equal: dict[tuple[str, str], dict[str, QuestionResult]] = defaultdict(dict)
    numbers: dict[str, int] = defaultdict(int)  # of answers, by question
    for result in results:
        for question in answered(result):
            numbers[question.id] += 1
            if question.digest:
                equal[question.id, question.digest][result.student] = question
    mistakes = _mistakes(results, numbers)
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (identity, _), group in sorted(equal.items()):
        if len(group) < 2 or _is_common(len(group), numbers[identity]):
            continue
        if not all(question.in_full for question in group.values()):
            found[tuple(group)].append(identity)
            continue
        shared = (group.keys() & made for (other, _), made in mistakes.items() if other != identity)
        for students in {tuple(sorted(students)) for students in shared if len(students) > 1}:
            found[students].append(identity)
    return found


def _mistakes(results: Iterable[Result], numbers: Mapping[str, int]) -> dict[tuple[str, str], set[str]]:
    """The students of each mistake that is not common, by its question and what its findings share."""
    made: dict[tuple[str, str], set[str]] = defaultdict(set)
    for result in results:
        for question in answered(result):
            for check in told(question):
                made[question.id, mistake_of(check)].add(result.student)
    return {
        key: students
        for key, students in made.items()
        if len(students) > 1 and not _is_common(len(students), numbers[key[0]])
    }


def _is_common(number: int, of: int) -> bool:
    return of >= _LEAST_COMMON and number > _COMMON * of
