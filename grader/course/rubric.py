"""A rubric: the hidden checks, contracts and pictures of a check file, and mistakes in that file."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FunctionType, ModuleType

from grader.contracts.check import MAX_HINT, Check, cases_of, points_of, title_and_hint
from grader.course.assignment import Question
from grader.course.author_file import names_defined, read_syntax, todos_in, written_definitions
from grader.course.cause import cause_of
from grader.course.contract import Contract, contracts_defined
from grader.course.inside_source import InsideSource, decorator_name
from grader.course.known_words import require_known
from grader.course.worker_code import DeclaredPicture, WorkerCode, pictures_defined
from grader.errors import CourseError
from grader.sandbox.plan import ObservationPlan, Request, TimeLimits
from grader.scores import total
from grader.text import did_you_mean

REFERENCE_LIMITS = TimeLimits(cell=60, question=120, notebook=600)
#: A line, and what is wrong there.
_Complaint = tuple[int, str]

_SENT = {"picture", "inside"}  # decorators of what the worker gets
_OF_A_CASE = {"seen", "expected", "name", "variations", "is_typical"}


@dataclass(frozen=True)
class Rubric:
    """The content of a check file.

    Attributes:
        path: the check file.
        asks: the id of each contract's question.
        shows: the id of each picture's question.
        demonstrations: the code cells that students get besides starter code.
        unwritten: the ids of questions of which a check, a contract or a picture says TODO.
    """

    stem: str
    path: Path
    questions: tuple[Question, ...]
    checks: tuple[Check, ...]
    contracts: dict[str, Contract]
    asks: dict[str, str]
    pictures: dict[str, DeclaredPicture] = field(default_factory=dict)
    shows: dict[str, str] = field(default_factory=dict)
    demonstrations: tuple[str, ...] = ()
    unwritten: frozenset[str] = frozenset()

    def checks_of(self, question: str) -> list[Check]:
        """The checks of a question, by its id."""
        return [check for check in self.checks if check.question == question]

    def with_only(self, questions: Collection[str]) -> Rubric:
        """The rubric of some questions only, by their ids."""
        asks = {name: question for name, question in self.asks.items() if question in questions}
        shows = {name: question for name, question in self.shows.items() if question in questions}
        return replace(
            self,
            questions=tuple(question for question in self.questions if question.id in questions),
            checks=tuple(check for check in self.checks if check.question in questions),
            contracts={name: self.contracts[name] for name in asks},
            asks=asks,
            pictures={name: self.pictures[name] for name in shows},
            shows=shows,
        )

    def max_score(self, question: str) -> float:
        """The sum of the points of a question's checks."""
        return total(check.points for check in self.checks_of(question))

    def plan(self, seed: int, *, only: str | None = None, expected: bool = False) -> ObservationPlan:
        """The plan for observing a notebook on the inputs of a seed.

        Args:
            only: the id of a question, to leave out the others.
            expected: for the reference, which needs more time while its results are perturbed.
        """
        questions = [question for question in self.questions if only in {None, question.id}]
        functions = {question.id: question.function for question in questions}
        planned: dict[str, list[Request]] = {question.function: [] for question in questions}
        questions_of = {**self.asks, **self.shows}
        for code in [*self.contracts.values(), *self.pictures.values()]:
            function = functions.get(questions_of[code.name])
            if function is not None:
                planned[function].append(self._request(code, seed, expected=expected))
        return ObservationPlan(
            starter_code={question.function: question.starter_code for question in questions},
            requests={function: tuple(requests) for function, requests in planned.items()},
            demonstrations=() if only else self.demonstrations,  # a notebook for a question has its cells
            questions={question.function: question.id for question in questions},
        )

    def _request(self, code: WorkerCode, seed: int, *, expected: bool) -> Request:
        return Request(
            name=code.name,
            source=code.bundle(),
            seed=code.seed(seed, self.stem),
            seconds=REFERENCE_LIMITS.question if expected else code.seconds,
            picture=isinstance(code, DeclaredPicture),
        )


def read_rubric(path: Path, questions: tuple[Question, ...], demonstrations: tuple[str, ...] = ()) -> Rubric:
    """Read the check file of an assignment.

    Raises:
        CourseError: the file is missing, does not import, or breaks a rule of checks and contracts.
    """
    if not path.is_file():
        raise CourseError(f"{path} is missing: every assignment has its hidden checks there")
    tree = read_syntax(path)
    complaints = sorted({*_anywhere(tree), *_at_the_top(tree), *_in_functions(tree)})
    if complaints:
        raise CourseError("\n".join(f"{path}, line {line}: {message}" for line, message in complaints))
    module = import_checks(path)
    contracts, pictures = contracts_defined(module), pictures_defined(module)
    asks = {name: question_of(contract, questions, demonstrations) for name, contract in contracts.items()}
    shows = {name: question_of(picture, questions, demonstrations) for name, picture in pictures.items()}
    checks = tuple(_check(test, contracts, asks, path) for test in _tests(module))
    stem = path.stem.removeprefix("test_")
    rubric = Rubric(stem, path, questions, checks, contracts, asks, pictures, shows, demonstrations)
    if not todos_in(path):  # otherwise a contract or a question may still wait for its check
        _require_use(rubric)
        return rubric
    written = {name for node in written_definitions(path, tree.body) for name in names_defined(node)}
    return replace(rubric, unwritten=frozenset(_unwritten(rubric, written)))


def _unwritten(rubric: Rubric, written: set[str]) -> Iterator[str]:
    """The ids of the questions with a check, or a part of a contract or a picture, that is not written."""
    yield from (check.question for check in rubric.checks if check.id not in written)
    of_question = {**rubric.asks, **rubric.shows}
    for code in [*rubric.contracts.values(), *rubric.pictures.values()]:
        parts = (part.name for part in code.parts() if part.path == str(rubric.path))
        if not written.issuperset(parts):
            yield of_question[code.name]


def _require_use(rubric: Rubric) -> None:
    """Refuse contracts that no check takes, and questions without checks."""
    path, contracts, checks = rubric.path, rubric.contracts, rubric.checks
    taken = {check.contract for check in checks}
    unused = [contract for contract in contracts.values() if contract.name not in taken]
    if unused:
        where = unused[0].source.where
        raise CourseError(f"{where}: no check takes the contract {unused[0].name}; remove it or use it")
    for question in rubric.questions:
        if not any(check.question == question.id for check in checks):
            raise CourseError(f"{path}: question {question.id} ({question.function}) has no check")


def import_checks(path: Path) -> ModuleType:
    """Import a check file as pytest would, with its folder on the path, so that both share one module.

    Raises:
        CourseError: it raises an error, which its author must fix.
    """
    folder = str(path.parent)
    sys.path[:] = [folder, *(entry for entry in sys.path if entry != folder)]
    for name in (path.stem, "inside"):  # another course's files of the same names
        loaded = sys.modules.get(name)
        if loaded is not None and Path(loaded.__file__ or "").parent != path.parent:
            del sys.modules[name]
    try:
        return importlib.import_module(path.stem)  # noqa: TID251 - the course's own check file
    except Exception as error:
        cause = str(cause_of(error, path.parent))
        names_file = cause.startswith(folder)
        raise CourseError(cause if names_file else f"{path} cannot be imported: {cause}") from error


def checks_of(
    module: ModuleType, contracts: dict[str, Contract], asks: dict[str, str], path: Path
) -> list[Check]:
    """The checks of a module that take some of its contracts only."""
    names = {test: inspect.signature(test).parameters for test in _tests(module)}
    return [_check(test, contracts, asks, path) for test in names if names[test].keys() <= asks.keys()]


def _tests(module: ModuleType) -> list[FunctionType]:
    return [f for name, f in vars(module).items() if name.startswith("test_") and inspect.isfunction(f)]


def _check(test: FunctionType, contracts: dict[str, Contract], asks: dict[str, str], path: Path) -> Check:
    taken = tuple(inspect.signature(test).parameters)
    unknown = [name for name in taken if name not in asks]
    where = f"{path}, line {test.__code__.co_firstlineno}: {test.__name__}"
    if unknown:
        raise CourseError(
            f"{where} takes {unknown[0]}; {did_you_mean(unknown[0], asks)}; take a contract of this file"
        )
    if len(taken) != 1:
        listed = " and ".join(taken) or "no contract"
        raise CourseError(f"{where} takes {listed}: a check takes one contract of this file")
    title, hint = title_and_hint(test)
    if hint and len(hint) > MAX_HINT:
        raise CourseError(f"{where} has a hint of {len(hint)} characters; students read {MAX_HINT}")
    worth, is_of_side_effects = points_of(test)
    (contract,) = taken
    question, patterns = asks[contract], cases_of(test)
    require_known(f"{where}, @cases", [p for p in patterns if p != "*"], contracts[contract].factors)
    return Check(test.__name__, title, hint, worth, question, contract, is_of_side_effects, patterns)


def question_of(code: WorkerCode, questions: tuple[Question, ...], demonstrations: Collection[str]) -> str:
    """The id of the question whose function a contract or picture names, unless its author gave an id.

    Raises:
        CourseError: it names no question or several, or a name that neither a question nor a cell of
            `demonstrations`, the other code of the notebook, has.
    """
    functions = [question.function for question in questions]
    for name, line in _taken_from_student(code.source):
        text = "\n".join([*demonstrations, *functions])
        if not re.search(rf"\b{name}\b|import \*", text):
            known = {*functions, *re.findall(r"\b[^\W\d]\w*\b", text)}
            raise CourseError(
                f"{code.source.path}, line {line}: {code.name} asks for student.{name}, which no question"
                f" and no other cell of the notebook source defines; {did_you_mean(name, known)}"
            )
    is_picture = isinstance(code, DeclaredPicture)
    where = f"{code.source.where}: {'picture' if is_picture else 'contract'} {code.name}"
    ids = {question.function: question.id for question in questions}
    if code.question is not None:
        if code.question not in ids.values():
            raise CourseError(
                f"{where} belongs to {code.question}, which the assignment has not, only"
                f" {', '.join(ids.values())}"
            )
        return code.question
    named = sorted(ids[attribute] for attribute in code.attributes if attribute in ids)
    if len(named) != 1:
        names = " and ".join(named) or "no question"
        how = '@picture(question="q1")' if is_picture else 'contract(..., question="q1")'
        raise CourseError(f"{where} names {names}; say which it belongs to: {how}")
    return named[0]


def _taken_from_student(source: InsideSource) -> Iterator[tuple[str, int]]:
    """The names that the code itself takes from its argument, each with its line."""
    if isinstance(source.tree, ast.FunctionDef):
        arguments = source.tree.args
        student = [*arguments.posonlyargs, *arguments.args][0].arg
        for node in ast.walk(source.tree):
            match node:
                case ast.Attribute(ast.Name(name), attribute, ast.Load()) if name == student:
                    yield attribute, node.lineno


# --- mistakes that would otherwise have no visible effect


def left_in(path: Path) -> list[str]:
    """A sentence for each ``print`` or ``breakpoint`` in a check file; CourseError if it cannot be read."""
    return [
        f"{path}, line {node.lineno}: remove {name}, because its output is never shown"
        for node in ast.walk(read_syntax(path))
        for name in ("print", "breakpoint")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


def _anywhere(tree: ast.Module) -> Iterator[_Complaint]:
    """Asserts without a message, and imports of torch."""
    for node in ast.walk(tree):
        match node:
            case ast.Assert(test=test, msg=None):
                message = "this assert has no message; a student reads it"
                if isinstance(test, ast.Tuple):
                    message += (
                        ". In parentheses with its message it is a pair, which is always true: remove them"
                    )
                yield node.lineno, message
            case ast.Import() | ast.ImportFrom():
                names = [alias.name for alias in node.names]
                modules = names if isinstance(node, ast.Import) else [node.module or ""]
                if any(module.partition(".")[0] == "torch" for module in modules):
                    message = f"`{ast.unparse(node)}`: checks run without torch"
                    yield (
                        node.lineno,
                        f"{message}; write `from grader.inside import torch`, for @inside functions",
                    )


def _at_the_top(tree: ast.Module) -> Iterator[_Complaint]:
    """Names that are defined twice, and checks in a class."""
    first: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name in first:
                message = f"{node.name} is defined in line {first[node.name]} already, and would replace it"
                yield node.lineno, f"{message}; rename one of them"
            first.setdefault(node.name, node.lineno)
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name.startswith("test_"):
                    yield (
                        method.lineno,
                        f"{method.name} is in the class {node.name}: make it a function",
                    )


def _in_functions(tree: ast.Module) -> Iterator[_Complaint]:
    """Checks that pytest skips or calls several times, that nobody calls, or that decide nothing."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    contracts = {name for node in tree.body if _is_contract(node) for name in names_defined(node)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for function in functions:
        name, is_check = function.name, function.name.startswith("test_")
        arguments = function.args
        parameters = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        decorators = [(decorator_name(decorator), decorator.lineno) for decorator in function.decorator_list]
        for decorator, line in decorators:
            if is_check and decorator not in {"points", "cases"}:
                yield line, f"{name} has the decorator @{decorator}: a check has only @points and @cases"
            elif decorator.endswith("fixture"):
                yield line, f"{name} is a fixture: a check takes a contract and nothing else"
        is_idle = name not in used and not _SENT & dict(decorators).keys()
        if is_idle and not is_check and parameters and parameters <= contracts:
            message = (
                f"{name} takes a contract, and no check calls it: if it is a check, begin its name with test_"
            )
            yield function.lineno, message
        if is_check:
            yield from _in_check(function, parameters)


def _is_contract(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(value=ast.Call(func=ast.Name("contract"))):
            return True
    return False


def _in_check(check: ast.FunctionDef, parameters: set[str]) -> Iterator[_Complaint]:
    """Comparisons without an assert, and attributes that no case has."""
    names = [node for node in ast.walk(check) if isinstance(node, ast.Name)]
    cases = parameters - {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    for node in ast.walk(check):
        match node:
            case ast.Expr(value=ast.Compare()):
                yield node.lineno, f"`{ast.unparse(node)}` decides nothing: write assert, and a message"
            case ast.Attribute(ast.Name(case), name) if case in cases and name not in _OF_A_CASE:
                near = did_you_mean(name, {"seen", "expected"})
                yield node.lineno, f"{case}.{name}: a case has seen and expected; {near}"
