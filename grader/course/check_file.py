"""A check file by its syntax: mistakes that would otherwise have no visible effect are refused."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from grader.course.assignment import Question
from grader.course.author_file import read_syntax
from grader.course.probe_source import ProbeSource, decorator_name
from grader.course.probes import PictureProbe, Probe
from grader.errors import CourseError
from grader.text import did_you_mean

#: A line, and what is wrong there.
_Complaint = tuple[int, str]

_TRAVELS = {"probe", "picture", "inside"}
_OF_AN_OBSERVATION = {"seen", "expected", "mismatch"}


def read_check_file(path: Path) -> ast.Module:
    """The syntax of a check file.

    Raises:
        CourseError: it cannot be read or has mistakes; the text names each with its line.
    """
    tree = read_syntax(path)
    complaints = sorted({*_anywhere(tree), *_at_the_top(tree), *_in_functions(tree)})
    if complaints:
        raise CourseError("\n".join(f"{path}, line {line}: {message}" for line, message in complaints))
    return tree


def left_in(path: Path) -> list[str]:
    """A sentence for each ``print`` or ``breakpoint`` in a check file; CourseError if it cannot be read."""
    return [
        f"{path}, line {node.lineno}: {name} is left in, and nobody reads it: remove it"
        for node in ast.walk(read_syntax(path))
        for name in ("print", "breakpoint")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


def _anywhere(tree: ast.Module) -> Iterator[_Complaint]:
    """Asserts without a message, and imports of torch."""
    for node in ast.walk(tree):
        modules: list[str] = []
        match node:
            case ast.Assert(test=test, msg=None):
                message = "this assert has no message; a student reads it"
                if isinstance(test, ast.Tuple):
                    message += (
                        ". In parentheses with its message it is a pair, which is always true: remove them"
                    )
                yield node.lineno, message
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module)):
                modules = [module]
        if any(module.partition(".")[0] == "torch" for module in modules):
            message = f"`{ast.unparse(node)}`: checks run where there is no torch"
            yield node.lineno, f"{message}; write `from grader.inside import torch`, for probes"


def _at_the_top(tree: ast.Module) -> Iterator[_Complaint]:
    """Names that are defined twice, and checks in a class."""
    first: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name in first:
                message = f"{node.name} is defined in line {first[node.name]} already, and would replace it"
                yield node.lineno, f"{message}; give one of them another name"
            first.setdefault(node.name, node.lineno)
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(method, ast.FunctionDef) and method.name.startswith("test_"):
                yield method.lineno, f"{method.name} stands in the class {node.name}: checks stand in none"


def _in_functions(tree: ast.Module) -> Iterator[_Complaint]:
    """Checks that pytest skips or calls several times, that nobody calls, or that decide nothing."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    probes = {f.name for f in functions if "probe" in map(decorator_name, f.decorator_list)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for function in functions:
        name, is_check = function.name, function.name.startswith("test_")
        arguments = function.args
        parameters = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        decorators = [(decorator_name(decorator), decorator.lineno) for decorator in function.decorator_list]
        for decorator, line in decorators:
            if is_check and decorator != "points":
                yield line, f"{name} has the decorator @{decorator}: a check has only @points"
            elif decorator.endswith("fixture"):
                yield line, f"{name} is a fixture: a check takes probes and nothing else"
        is_idle = name not in used and not _TRAVELS & dict(decorators).keys()
        if is_idle and not is_check and parameters and parameters <= probes:
            message = f"{name} takes probes, and nobody calls it: a check's name begins with test_"
            yield function.lineno, message
        if is_check:
            yield from _in_check(function, parameters)


def _in_check(check: ast.FunctionDef, parameters: set[str]) -> Iterator[_Complaint]:
    """Comparisons without an assert, and attributes that no probe has."""
    names = [node for node in ast.walk(check) if isinstance(node, ast.Name)]
    probes = parameters - {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    for node in ast.walk(check):
        match node:
            case ast.Expr(value=ast.Compare()):
                yield node.lineno, f"`{ast.unparse(node)}` decides nothing: write assert, and a message"
            case ast.Attribute(ast.Name(probe), name) if probe in probes and name not in _OF_AN_OBSERVATION:
                near = did_you_mean(name, {"seen", "expected"})
                yield node.lineno, f"{probe}.{name}: a probe has seen and expected; {near}"


def question_of(probe: Probe, questions: tuple[Question, ...], handed_out: Collection[str]) -> str:
    """The id of the question whose function a probe or picture names, unless its author gave an id.

    Raises:
        CourseError: it names no question or several, or a name that neither a question nor a cell of
            `handed_out`, the other code of the notebook, has.
    """
    functions = [question.function for question in questions]
    for name, line in _taken_from_student(probe.source):
        text = "\n".join([*handed_out, *functions])
        if not re.search(rf"\b{name}\b|import \*", text):
            known = {*functions, *re.findall(r"\b[^\W\d]\w*\b", text)}
            raise CourseError(
                f"{probe.source.path}, line {line}: {probe.name} asks for student.{name}, which no question"
                f" and no other cell of the master defines; {did_you_mean(name, known)}"
            )
    kind = "picture" if isinstance(probe, PictureProbe) else "probe"
    where = f"{probe.source.where}: {kind} {probe.name}"
    ids = {question.function: question.id for question in questions}
    if probe.question is not None:
        if probe.question not in ids.values():
            raise CourseError(
                f"{where} belongs to {probe.question}, which the assignment has not, only"
                f" {', '.join(ids.values())}"
            )
        return probe.question
    named = sorted(ids[attribute] for attribute in probe.attributes if attribute in ids)
    if len(named) != 1:
        names = " and ".join(named) or "no question"
        raise CourseError(f'{where} names {names}; say which it belongs to: @{kind}(question="q1")')
    return named[0]


def _taken_from_student(source: ProbeSource) -> Iterator[tuple[str, int]]:
    """The names that a probe itself takes from its argument, each with its line."""
    if isinstance(source.tree, ast.FunctionDef):
        arguments = source.tree.args
        student = [*arguments.posonlyargs, *arguments.args][0].arg
        for node in ast.walk(source.tree):
            match node:
                case ast.Attribute(ast.Name(name), attribute, ast.Load()) if name == student:
                    yield attribute, node.lineno
