"""The names that a cell defines, from its syntax tree or, if Python cannot parse it, its text.

IPython's own syntax is read nearly as IPython does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_MAX_LINE = 300  # characters; a person writes shorter lines

_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTION_OR_CLASS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_DEFINITION = re.compile(r"(?:(?:async\s+)?def|class)\s+(\w+)")
_IMPORT = re.compile(r"(?:from\s+\S+\s+)?import\s(.*)")
_EQUALS = re.compile(r"(?<![=!<>:+\-*/%@&|^])=(?!=)")  # an assignment, which neither compares nor adds
_NO_TARGET = re.compile(r"[^\w\s,*]")

_CHECK = re.compile(r"""(?m)^grader\.check\([ \t]*+["'](\w++)["']""")
_MARGIN = re.compile(r"(?m)\s*?^([ \t]++)")
_TIME_MAGIC = re.compile(r"(?m)^([ \t]*+)%time[ \t]++(?=\S)")
_MAGIC_LINE = re.compile(r"(?m)^([ \t]*+)(?:[%!?;,/].*|[\w.]*+\?++[ \t]*+)$")
_ASSIGNED_MAGIC = re.compile(r"(?m)(?<==)[ \t]*+[%!].*$")


def defines(source: str, name: str) -> bool:
    """Whether a cell gives a name a value at its top level, in blocks such as ``if`` too.

    A cell that does not parse is searched for lines at the left margin that do.
    """
    if name not in source and source.isascii():
        return False
    tree = _parsed(source)
    if tree is not None:
        return name in bound_names(tree)
    return line_of_definition(source, name) is not None


def line_of_definition(source: str, name: str) -> int | None:
    """The last line of a cell, from 1, that seems to define a name at the left margin."""
    numbered = enumerate(source.split("\n"), start=1)
    at_margin = (number for number, line in numbered if not line[:1].isspace() and _line_defines(line, name))
    return max(at_margin, default=None)


def functions_and_classes(source: str) -> list[str]:
    """The functions and classes that a cell defines at its margin, in order; none if it does not parse."""
    tree = _parsed(source)
    return [node.name for node in tree.body if isinstance(node, _FUNCTION_OR_CLASS)] if tree else []


def questions_checked(source: str) -> set[str]:
    """The ids of the questions that a cell checks at its left margin, as in ``grader.check("q1")``."""
    return {*_CHECK.findall(source)}


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(without_magics(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def without_magics(source: str) -> str:
    """A cell that Python can parse: without the first line's indentation and without IPython's own lines.

    A statement behind ``%time`` stays.
    """
    source = _TIME_MAGIC.sub(r"\1", source)
    if margin := _MARGIN.match(source):
        source = re.sub(rf"(?m)^{margin[1]}", "", source)
    return _ASSIGNED_MAGIC.sub(" None", _MAGIC_LINE.sub(r"\1pass", source))


def magics_in(source: str) -> list[str]:
    """IPython's own lines of a cell, which `without_magics` takes out."""
    return [line[0] for pattern in (_MAGIC_LINE, _ASSIGNED_MAGIC) for line in pattern.finditer(source)]


def bound_names(tree: ast.Module) -> Iterator[str]:
    """Every name that is bound outside of functions and classes, in blocks such as ``if`` too."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield from _bound_by(node)
        if isinstance(node, _FUNCTION_OR_CLASS):
            continue  # names in its body are local
        if isinstance(node, ast.AnnAssign) and node.value is None:
            continue  # it only says the type
        if isinstance(node, _SCOPES):  # of these only ``:=`` reaches out
            yield from (
                inner.target.id
                for inner in ast.walk(node)
                if isinstance(inner, ast.NamedExpr) and not isinstance(node, ast.Lambda)
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


def _line_defines(line: str, name: str) -> bool:
    """Whether a line looks as if it defines a name: by ``def``, ``class``, an import or an assignment."""
    text = line.lstrip()[:_MAX_LINE]
    if name not in text:
        return False
    if match := _DEFINITION.match(text):
        return match[1] == name
    if match := _IMPORT.match(text):
        return name in {part.strip(" ()").rpartition(" ")[2] for part in match[1].split(",")}
    return any(name in _targets(piece) for piece in _EQUALS.split(text)[:-1])


def _targets(piece: str) -> set[str]:
    """The names left of an equals sign; none where anything else stands there too."""
    names = piece.partition(":")[0].lstrip(" \t([").rstrip(" \t)]")
    return set() if _NO_TARGET.search(names) else {part.strip(" \t*") for part in names.split(",")}
