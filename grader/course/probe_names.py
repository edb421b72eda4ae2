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
    return list(_taken_from_argument(probe.source, 0, frozenset()))


def _taken_from_argument(
    source: ProbeSource, position: int, done: frozenset[str]
) -> Iterator[tuple[str, str, int]]:
    """Each name that a definition takes from its argument at this position, with file and line."""
    tree = source.tree
    if not isinstance(tree, ast.FunctionDef) or source.name in done:
        return
    arguments = [argument.arg for argument in (*tree.args.posonlyargs, *tree.args.args)]
    if position >= len(arguments) or not _is_only_read(tree, arguments[position]):
        return
    student, helpers = arguments[position], {helper.name: helper for helper in source.dependencies}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ast.Name(name), attribute, ast.Load()) if name == student:
                yield attribute, source.path, node.lineno
            case ast.Call(ast.Name(name), given) if name in helpers:
                for index, argument in enumerate(given):
                    if isinstance(argument, ast.Name) and argument.id == student:
                        yield from _taken_from_argument(helpers[name], index, done | {source.name})


def _is_only_read(function: ast.FunctionDef, name: str) -> bool:
    """Whether a name means the argument everywhere in a function: nothing else is given this name."""
    nodes = [node for node in ast.walk(function) if node is not function]
    assigned = {
        node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    inner = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.Lambda)]
    parameters = {
        argument.arg for node in inner for argument in ast.walk(node.args) if isinstance(argument, ast.arg)
    }
    return name not in assigned | parameters


def names_defined(cells: Iterable[str], functions: Collection[str]) -> set[str] | None:
    """The names that an untouched notebook defines; None if that cannot be known.

    `cells` are its code cells besides stubs, `functions` the names that students complete.
    """
    names = set(functions)
    for cell in cells:
        try:
            tree = ast.parse(cell)
        except SyntaxError:  # Jupyter's syntax
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
    """The id of the question whose function a probe or picture names, unless its author gave an id.

    Raises:
        CourseError: it names no question or several, or a name that is not among `given`, if that is known.
    """
    kind = "picture" if isinstance(probe, PictureProbe) else "probe"
    where = f"{probe.source.where}: {kind} {probe.name}"
    _require_known(probe, given)
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


def _require_known(probe: Probe, given: Collection[str] | None) -> None:
    """Refuse a probe that takes a name from the notebook which the notebook does not define."""
    for name, path, line in names_used(probe):
        if given is not None and name not in given:
            raise CourseError(
                f"{path}, line {line}: {probe.name} asks for student.{name}, which no question and no other"
                f" cell of the master defines; {did_you_mean(name, given)}"
            )
