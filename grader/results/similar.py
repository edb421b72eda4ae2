"""Same work: students who submitted the same notebook, or share rare answers and rare mistakes.

Answers are compared as syntax trees without comments, docstrings, annotations and layout. Every name that an
answer binds itself is numbered in the order in which the names of its scope appear. Nothing is evaluated.

How much a pair shares is the sum of what each shared answer and each shared mistake counts:

* the rarer it is among those who answered the question, the more: 1 if only these two have it, nearly 0 if
  everybody has it. Fewer than `_FEWEST` students say little about rarity, so they count as that many;
* an equal answer counts by its length, because there is only one way to write a line or two. Right answers
  resemble each other, so they have to be longer than wrong ones;
* a mistake counts less than an answer, and half of that is for messages with the same values.

Pairs below `_LEAST` are not reported. A notebook of the same bytes always is if a question of it was
answered: two students who save the same work write files that differ at least in their outputs.
"""

from __future__ import annotations

import ast
import hashlib
import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, count

from grader.notebooks.definitions import without_magics
from grader.notebooks.reader import Cell
from grader.results.model import QuestionResult, Result
from grader.results.statistics import distinct_failures, mistake_of

FEWEST_NODES = 8  # of an answer's own; there is no other way to write a shorter one
_LONGEST_CELL = 16 * 1024  # characters; the syntax tree of a longer one would take much time and memory
_LONGEST_SHOWN = 4_000  # characters of an answer beside another
_FULL_WRONG, _FULL_RIGHT = 30, 60  # nodes from which an equal answer has its full weight
_OF_MISTAKE = 0.2  # the weight of the same mistake, and again that of a message with the same values
_LEAST = 1.0  # the least weight that is reported: a rare mistaken answer of 30 nodes
_LEAST_NAMED = 0.1  # the least weight of an answer or a mistake that is named; the answer of most has less
_FEWEST = 8  # students
_MOST_SHARING = 12  # students who share something that is rare enough to make them a pair
_MOST_SHOWN = 10  # groups with their answers side by side
_MOST = 30  # groups

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)


@dataclass(frozen=True)
class Sides:
    """The answers of the first two students of a group to a question, as they wrote them."""

    question: str
    left: str
    right: str


@dataclass(frozen=True)
class SameWork:
    """Students who share work.

    Attributes:
        is_file: whether the notebooks are the same file.
        answers: the questions with equal answers that are rare, the rarest first.
        mistakes: the questions with the same rare mistake, the rarest first.
        weight: how rare what they share is; see the top of this module.
        sides: the answers of the first two, of the questions that say most.
    """

    assignment: str
    students: tuple[str, ...]
    is_file: bool = False
    answers: tuple[str, ...] = ()
    mistakes: tuple[str, ...] = ()
    weight: float = math.inf
    sides: tuple[Sides, ...] = ()


def with_digests(result: Result, cells: Sequence[Cell], starter_code: Mapping[str, str]) -> Result:
    """The result of a notebook with these cells, with the digest of each answer.

    Args:
        starter_code: the cells of the functions as students get them, by the functions' names.
    """
    sources = {cell.number: cell.source for cell in cells}

    def with_digest(question: QuestionResult) -> QuestionResult:
        source = sources.get(question.cell or 0, "") if question.status == "answered" else ""
        found, size = digest(source, question.function, starter_code.get(question.function, ""))
        return replace(question, digest=found, own_nodes=size)

    return replace(result, questions=tuple(map(with_digest, result.questions)))


_UNPARSED = (SyntaxError, ValueError, RecursionError, MemoryError)


def digest(source: str, name: str, starter_code: str = "") -> tuple[str, int]:
    """A digest of the last definition of a name in a cell, and how many nodes of it are the student's own.

    The digest is equal for answers that are equal but for names. It is empty if Python cannot parse the cell,
    if the cell does not define the name at its margin, or if too little of the answer is the student's own.
    """
    try:
        answer = _definition(source, name)
        if answer is None:
            return "", 0
        bare = _Bare().visit(answer)
        size = _own_nodes(bare, _statements_of_starter_code(starter_code, name))
        if size < FEWEST_NODES:
            return "", size
        renamed = _Renamed({*_bound_names(bare)}).visit(bare)
        return hashlib.sha256(ast.dump(renamed).encode()).hexdigest()[:32], size
    except _UNPARSED:
        return "", 0


def _definition(source: str, name: str) -> ast.AST | None:
    """The last function or class of a name in a cell."""
    if name not in source or len(source) > _LONGEST_CELL:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as those of a backslash in a text
        tree = ast.parse(without_magics(source))
    found = [node for node in tree.body if isinstance(node, _DEFINITIONS) and node.name == name]
    return found[-1] if found else None


def _as_written(result: Result, question: str, cells: Sequence[Cell]) -> str:
    """The answer to a question as its student wrote it, cut if it is very long; empty if it is not found."""
    answer = next((each for each in result.questions if each.id == question), None)
    source = next((cell.source for cell in cells if answer and cell.number == answer.cell), "")
    try:
        node = _definition(source, answer.function) if answer else None
        text = (ast.get_source_segment(without_magics(source), node) or "") if node else ""
    except _UNPARSED:
        text = ""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}\n..."


@lru_cache(maxsize=1_000)
def _statements_of_starter_code(source: str, name: str) -> Counter[str]:
    """The statements of starter code, each as text, with which the answers of a class are compared."""
    tree = _definition(source, name)
    return Counter(text for text, _ in _statements(_Bare().visit(tree))) if tree else Counter()


def _own_nodes(answer: ast.AST, starter_code: Counter[str]) -> int:
    """The number of nodes in the statements of an answer that are not in the starter code."""
    left, own = starter_code.copy(), 0
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
            case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)):
                yield name
            case (
                ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name))
            ):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                if node not in methods:
                    yield name


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, ast.Lambda, *_COMPREHENSIONS)


def _bound_here(scope: ast.AST) -> set[str]:
    """The names that a function, a lambda or a comprehension binds itself, and no scope inside it."""
    if isinstance(scope, _COMPREHENSIONS):
        nodes: list[ast.AST] = [generator.target for generator in scope.generators]
    else:
        nodes = [*ast.iter_child_nodes(scope)]
    bound, outer = set[str](), set[str]()
    while nodes:
        match node := nodes.pop():
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                bound.add(name)
            case ast.Nonlocal(names=names) | ast.Global(names=names):
                outer.update(names)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
        if not isinstance(node, _SCOPES):
            nodes += ast.iter_child_nodes(node)
    return bound - outer


class _Renamed(ast.NodeTransformer):
    """Numbers some names in the order in which they appear; a scope has its own names."""

    def __init__(self, bound: set[str]) -> None:
        self._bound = bound
        self._numbers: dict[str, str] = {}
        self._next = count()

    def generic_visit(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.arg(arg=name) if name in self._bound:
                node.arg = self._number(name)
            case ast.Name(id=name) if name in self._bound:
                node.id = self._number(name)
            case ast.alias(asname=str(name)):
                node.asname = self._number(name)
            case ast.Nonlocal(names=names) | ast.Global(names=names):
                node.names = sorted(self._number(name) if name in self._bound else name for name in names)
            case ast.MatchMapping(rest=str(name)):
                node.rest = self._number(name)
            case ast.Call(func=ast.Name(id=name)) if name in self._bound:
                for place, keyword in enumerate(node.keywords):
                    keyword.arg = keyword.arg and f"keyword {place}"
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ) if name in self._bound:
                node.name = self._number(name)
        if not isinstance(node, _SCOPES):
            return super().generic_visit(node)
        around, here = self._numbers, _bound_here(node)
        self._numbers = {name: number for name, number in around.items() if name not in here}
        renamed = super().generic_visit(node)
        self._numbers = around
        return renamed

    def _number(self, name: str) -> str:
        if name not in self._numbers:
            self._numbers[name] = f"_{next(self._next)}"
        return self._numbers[name]


#: A part that students may share: the question; ``answer``, ``mistake`` or ``values``; and its identifier.
_Feature = tuple[str, str, str]


def same_work(results: Iterable[Result], read: Callable[[Result], Sequence[Cell]]) -> list[SameWork]:
    """Students who submitted the same work: the same notebooks first, then by the weight of the shared parts.

    Args:
        read: the cells of the notebook that a result is about; it is called for the first groups only.
    """
    by_stem: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        if result.assignment and not result.error and result.answered:
            by_stem[result.assignment].append(result)
    found = [work for stem, of_stem in by_stem.items() for work in _of_assignment(stem, of_stem)]
    found.sort(key=lambda work: (not work.is_file, -work.weight, work.assignment, work.students))
    return [
        _with_sides(work, by_stem[work.assignment], read) if place < _MOST_SHOWN else work
        for place, work in enumerate(found[:_MOST])
    ]


def _of_assignment(stem: str, results: Sequence[Result]) -> list[SameWork]:
    files = _files(results)
    known = [{*students} for students in files]
    found = [SameWork(stem, students, is_file=True) for students in files]
    for students, shared in _groups(results):
        if not any({*students} <= group for group in known):
            rarest = sorted(shared, key=lambda feature: (-shared[feature], feature))
            named = [feature for feature in rarest if shared[feature] >= _LEAST_NAMED]
            answers, mistakes = (
                tuple(dict.fromkeys(question for question, of, _ in named if of in kinds))
                for kinds in ({"answer"}, {"mistake", "values"})
            )
            weight = math.fsum(shared.values())
            found.append(SameWork(stem, students, answers=answers, mistakes=mistakes, weight=weight))
    return found


def _files(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """The students of each notebook that several submitted."""
    students: dict[str, list[str]] = defaultdict(list)
    for result in results:
        if result.provenance.notebook_sha256:
            students[result.provenance.notebook_sha256].append(result.student)
    return [tuple(group) for group in students.values() if len(group) > 1]


def _groups(results: Sequence[Result]) -> Iterator[tuple[tuple[str, ...], dict[_Feature, float]]]:
    """Students who share the same things that are rare enough: who, and the weight of each thing."""
    having: dict[_Feature, dict[str, float]] = defaultdict(dict)  # by student the weight, were it unique
    for result in results:
        for feature, weight in _features(result):
            having[feature][result.student] = weight
    numbers = Counter(question.id for result in results for question in result.answered)
    weights = {
        feature: min(students.values()) * _rarity(len(students), numbers[feature[0]])
        for feature, students in having.items()
        if len(students) > 1
    }
    shared: dict[str, set[_Feature]] = defaultdict(set)
    for feature in weights:
        for student in having[feature]:
            shared[student].add(feature)
    few = (having[feature] for feature in weights if len(having[feature]) <= _MOST_SHARING)
    pairs = {pair for students in few for pair in combinations(sorted(students), 2)}
    groups: dict[frozenset[_Feature], set[str]] = defaultdict(set)
    for one, other in pairs:
        both = frozenset(shared[one] & shared[other])
        if math.fsum(weights[feature] for feature in both) >= _LEAST:
            groups[both] |= {one, other}
    for features, students in groups.items():
        yield tuple(sorted(students)), {feature: weights[feature] for feature in features}


def _features(result: Result) -> Iterator[tuple[_Feature, float]]:
    """The parts that a student may share with others, each with its weight if only two students have it."""
    for question in result.answered:
        if question.digest:
            full = _FULL_RIGHT if question.in_full else _FULL_WRONG
            yield (question.id, "answer", question.digest), min(1.0, question.own_nodes / full)
        failures = distinct_failures(question)
        if failures:
            yield (question.id, "mistake", mistake_of(failures[0])), _OF_MISTAKE
            yield (question.id, "values", " ".join(str(check.message) for check in failures)), _OF_MISTAKE


def _rarity(number: int, of: int) -> float:
    """How rare it is that so many students share something, from 1 for two of them to 0 for all."""
    every = max(of, _FEWEST)
    return max(0.0, math.log(every / (number - 1)) / math.log(every))


def _with_sides(
    work: SameWork, results: Sequence[Result], read: Callable[[Result], Sequence[Cell]]
) -> SameWork:
    """The group with the answers of its first two students side by side."""
    of_student = {result.student: result for result in results}
    one, other = (of_student[student] for student in work.students[:2])
    questions = work.answers or work.mistakes or tuple(question.id for question in one.answered)
    cells = read(one), read(other)
    sides = (
        Sides(question, _as_written(one, question, cells[0]), _as_written(other, question, cells[1]))
        for question in questions
    )
    return replace(work, sides=tuple(each for each in sides if each.left and each.right))
