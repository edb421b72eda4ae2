"""Outside: what a probe asks of the notebook, by its syntax: each name, with file and line."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from grader.course.probes import Probe
from grader.course.source import Travelling


def asked_of_notebook(probe: Probe) -> list[tuple[str, str, int]]:
    """Each name that a probe or a helper of its takes from the notebook, with file and line.

    A helper counts as far as the probe hands it what it was given itself, by place.
    """
    return list(_asked(probe.source, 0, frozenset()))


def _asked(source: Travelling, place: int, done: frozenset[str]) -> Iterator[tuple[str, str, int]]:
    """What a definition takes from its argument at a place."""
    tree = source.tree
    if not isinstance(tree, ast.FunctionDef) or source.name in done:
        return
    arguments = [argument.arg for argument in (*tree.args.posonlyargs, *tree.args.args)]
    if place >= len(arguments) or not _is_only_read(tree, arguments[place]):
        return
    student, helpers = arguments[place], {needed.name: needed for needed in source.needs}
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


def names_given(cells: Iterable[str], functions: Collection[str]) -> set[str] | None:
    """The names a notebook has before its student wrote anything; None where its cells do not tell.

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
