"""What a cell defines, from its syntax tree or, where Python cannot parse it, from its text; nothing is run.

IPython's own syntax is read nearly as IPython does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from grader.notebooks.reader import Cell

MAX_DEFINITIONS = 20
MAX_SEARCHED = (
    1 << 18
)  # characters of a notebook, the last ones; the largest notebooks of a course have 50,000
_MAX_LINES = 200
_MAX_COUNTED = 5_000  # lines of a definition
_MAX_LINE = 300  # characters; a person writes shorter lines

_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTION_OR_CLASS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_DEFINITION = re.compile(r"(?:(?:async\s+)?def|class)\s+(\w+)")
_IMPORT = re.compile(r"(?:from\s+\S+\s+)?import\s(.*)")
_EQUALS = re.compile(r"(?<![=!<>:+\-*/%@&|^])=(?!=)")  # an assignment, which neither compares nor adds
_NO_TARGET = re.compile(r"[^\w\s,*]")

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
    """The last line of a cell, from 1, that defines a name at the left margin as far as its text tells."""
    numbered = enumerate(source.split("\n"), start=1)
    at_margin = (number for number, line in numbered if not line[:1].isspace() and _line_defines(line, name))
    return max(at_margin, default=None)


def functions_and_classes(source: str) -> list[str]:
    """The functions and classes that a cell defines at its margin, in order; none if it does not parse."""
    tree = _parsed(source)
    return [node.name for node in tree.body if isinstance(node, _FUNCTION_OR_CLASS)] if tree else []


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
            continue  # what its body binds is its own
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


@dataclass(frozen=True)
class Definition:
    """What looks like a definition in the text of a notebook."""

    cell: int  # the number of the code cell, counted from 1
    lines: tuple[str, ...]  # as far as the indentation tells; what is very long is cut


class Definitions(NamedTuple):
    """What looks like definitions of a name in the text of a notebook.

    Attributes:
        last: the last of them, in order.
        number: how many were found.
        is_complete: whether the whole notebook was searched, and not only the end of it.
    """

    last: Sequence[Definition]
    number: int
    is_complete: bool


def find_definitions(cells: Sequence[Cell], name: str) -> Definitions:
    """Find the definitions of a name in the last `MAX_SEARCHED` characters of a notebook.

    Only running the notebook could tell which of them counts.
    """
    found: list[tuple[int, str, int]] = []  # the last first: cell, its text, line
    count, left = 0, MAX_SEARCHED
    for cell in reversed(cells):
        text = cell.source[-left:] if left else ""
        left -= len(text)
        lines = text.split("\n") if name in text else []
        defining = [index for index, line in enumerate(lines) if _line_defines(line, name)]
        count += len(defining)
        found += [(cell.number, text, index) for index in reversed(defining)][: MAX_DEFINITIONS - len(found)]
    last = [Definition(cell, tuple(_block(text.split("\n"), index))) for cell, text, index in reversed(found)]
    return Definitions(last, count, sum(len(cell.source) for cell in cells) <= MAX_SEARCHED)


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


def _block(lines: Sequence[str], first: int) -> list[str]:
    """The lines of a definition: its decorators, and what is indented below it."""
    indent = len(lines[first]) - len(lines[first].lstrip())
    start = first
    while start > max(0, first - _MAX_LINES) and lines[start - 1].strip().startswith("@"):
        start -= 1
    end = first + 1
    while end < min(len(lines), first + _MAX_COUNTED) and _belongs(lines[end], indent):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    shown = [_cut(line) for line in lines[start : min(end, start + _MAX_LINES)]]
    return [*shown, f"... {end - start - _MAX_LINES} more lines"] if end - start > _MAX_LINES else shown


def _belongs(line: str, indent: int) -> bool:
    text = line.lstrip()
    return not text or len(line) - len(text) > indent or text[0] in ")]}#"


def _cut(line: str) -> str:
    """A line without tabs; cut before they are expanded, which could make it long, and after."""
    text = line[: _MAX_LINE + 1].expandtabs()
    return text if len(text) <= _MAX_LINE else f"{text[:_MAX_LINE]} ..."
