"""The names that a cell binds at its top level; IPython's own syntax is read nearly as IPython does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.notebooks.handwriting import defines

_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def binds(source: str, name: str) -> bool:
    """Whether a cell gives a name a value; of one that does not parse, its lines at the left margin tell."""
    try:
        tree = ast.parse(without_magics(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return defines(source, name)
    return name in bound(tree)


def bound(tree: ast.Module) -> Iterator[str]:
    """Every name that is bound outside of functions and classes, in blocks such as ``if`` too."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield from _bound_by(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue  # what its body binds is its own
        if isinstance(node, ast.AnnAssign) and node.value is None:
            continue  # it only says the type
        if isinstance(node, _SCOPES):  # of these only ``:=`` reaches out
            yield from (
                one.target.id
                for one in ast.walk(node)
                if isinstance(one, ast.NamedExpr) and not isinstance(node, ast.Lambda)
            )
            continue
        pending.extend(ast.iter_child_nodes(node))


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name


_MARGIN = re.compile(r"(?m)\s*?^([ \t]++)")
_TIME = re.compile(r"(?m)^([ \t]*+)%time[ \t]++(?=\S)")
_LINE = re.compile(r"(?m)^([ \t]*+)(?:[%!?;,/].*|[\w.]*+\?++[ \t]*+)$")
_ASSIGNED = re.compile(r"(?m)(?<==)[ \t]*+[%!].*$")


def without_magics(source: str) -> str:
    """A cell that Python can parse: without the first line's indentation and without lines of IPython's.

    A statement whose time is taken stays.
    """
    source = _TIME.sub(r"\1", source)
    if margin := _MARGIN.match(source):
        source = re.sub(rf"(?m)^{margin[1]}", "", source)
    return _ASSIGNED.sub(" None", _LINE.sub(r"\1pass", source))
