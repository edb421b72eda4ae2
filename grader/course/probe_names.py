"""Which names of the notebook a probe uses, by its syntax, and which question it belongs to."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from grader.course.assignment import Question
from grader.course.probe_source import ProbeSource
from grader.course.probes import PictureProbe, Probe
from grader.errors import CourseError
from grader.text import did_you_mean


def names_used(probe: Probe) -> list[tuple[str, str, int]]:
    """Each name that a probe or its helpers take from the notebook, with file and line.

    A helper counts if the probe passes its own argument on to it by position.
    """
    return list(_asked(probe.source, 0, frozenset()))


def _asked(source: ProbeSource, place: int, done: frozenset[str]) -> Iterator[tuple[str, str, int]]:
    """What a definition takes from its argument at a place."""
    tree = source.tree
    if not isinstance(tree, ast.FunctionDef) or source.name in done:
        return
    arguments = [argument.arg for argument in (*tree.args.posonlyargs, *tree.args.args)]
    if place >= len(arguments) or not _is_only_read(tree, arguments[place]):
        return
    student, helpers = arguments[place], {needed.name: needed for needed in source.dependencies}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ast.Name(name), attribute, ast.Load()) if name == student:
                yield attribute, source.path, node.lineno
            case ast.Call(ast.Name(name), given) if name in helpers:
                for at, argument in enumerate(given):
                    if isinstance(argument, ast.Name) and argument.id == student:
                        yield from _asked(helpers[name], at, done | {source.name})


def _is_only_read(function: ast.FunctionDef, name: str) -> bool:
    """Whether a name means the argument wherever it stands: nothing else is given this name."""
    nodes = [node for node in ast.walk(function) if node is not function]
    others = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    inner = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.Lambda)]
    taken = {
        argument.arg for node in inner for argument in ast.walk(node.args) if isinstance(argument, ast.arg)
    }
    return name not in others | taken


def names_defined(cells: Iterable[str], functions: Collection[str]) -> set[str] | None:
    """The names that a notebook defines before its student writes anything; None if that cannot be known.

    Args:
        cells: the code cells that students get besides stubs.
        functions: what students complete.
    """
    names = set(functions)
    for cell in cells:
        try:
            tree = ast.parse(cell)
        except SyntaxError:  # Jupyter's own syntax
            return None
        for node in ast.walk(tree):
            match node:
                case ast.Name(name, ast.Store()) | ast.FunctionDef(name) | ast.ClassDef(name):
                    names.add(name)
                case ast.alias("*"):
                    return None
                case ast.alias(name, asname):
                    names.add(asname or name.partition(".")[0])
    return names


def question_of(probe: Probe, questions: tuple[Question, ...], given: Collection[str] | None) -> str:
    """The id of the question whose function a probe or picture names, unless its author gave one.

    Raises:
        CourseError: it names no question or several, or a name that is not among `given`, if that is known.
    """
    kind = "picture" if isinstance(probe, PictureProbe) else "probe"
    where = f"{probe.source.path}, line {probe.source.tree.lineno}: {kind} {probe.name}"
    _require_known(probe, given)
    known = {question.function: question.id for question in questions}
    if probe.question is not None:
        if probe.question not in known.values():
            raise CourseError(
                f"{where} belongs to {probe.question}, which the assignment has not, only"
                f" {', '.join(known.values())}"
            )
        return probe.question
    named = sorted(known[attribute] for attribute in probe.attributes if attribute in known)
    if len(named) != 1:
        found = " and ".join(named) or "no question"
        raise CourseError(f'{where} names {found}; say which it belongs to: @{kind}(question="q1")')
    return named[0]


def _require_known(probe: Probe, given: Collection[str] | None) -> None:
    """Refuse a probe that takes a name from the notebook which nothing there gives."""
    for name, path, line in names_used(probe):
        if given is not None and name not in given:
            raise CourseError(
                f"{path}, line {line}: {probe.name} asks for student.{name}, which no question and no other"
                f" cell of the master defines; {did_you_mean(name, given)}"
            )
