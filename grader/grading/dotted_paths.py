"""The dotted paths that a cell names, read from its syntax tree; nothing of it is run.

They are written as in Python: ``sys.modules``, ``import signal``, ``torch.Tensor.backward =`` where it is
assigned, ``exec()`` where it is called, ``.f_back`` where it is not known of what; and ``open(0)``,
``impl(aten)``, ``getattr(computed)`` for arguments that tell something.
"""

from __future__ import annotations

import ast
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from grader.notebooks.definitions import without_magics

_IMPORTING = {"__import__", "import_module"}
_GETTING = {"getattr", "__getattribute__"}
_SETTING = {"setattr", "__setattr__"}

_WORD = re.compile(r"\w++")
_IMPORT = re.compile(r"\b(?:from|import)[ \t]++([\w.]{1,200}+)(?:[ \t]++import[ \t]++([^\n]{0,200}))?+")
_PATH = re.compile(r"(/proc/|/dev/fd)|(: *+|\bin |\bdef )?+([\w.]{1,200}+)[ \t]*+(\(\d?|=(?!=))?+")


class Paths(NamedTuple):
    """What a cell names.

    Attributes:
        named: dotted paths, in the words of the cell.
        aliases: names, each with a path that it stands for; a name may have several.
        rebound: names that are bound to something else.
    """

    named: frozenset[str]
    aliases: tuple[tuple[str, str], ...] = ()
    rebound: frozenset[str] = frozenset()


def paths_in(source: str, words: frozenset[str], *, parse: bool = True) -> Paths:
    """The paths in a cell that have one of these words.

    Where Python cannot parse it, or is not to, its text is searched too, with comments and all.
    """
    if parse and (found := _parsed(source, words)):
        return found
    loosely = frozenset(_paths_in_text(source, words))
    found = _parsed(without_magics(source), words) if parse else None
    return found._replace(named=found.named | loosely) if found else Paths(loosely)


def _parsed(source: str, words: frozenset[str]) -> Paths | None:
    try:
        with warnings.catch_warnings(action="ignore"):  # of a stranger's escape sequences
            return _Reader(words).read(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _paths_in_text(text: str, words: frozenset[str]) -> Iterator[str]:
    """The paths in a text that is not parsed: prose, a piece of code, or a name that is looked up."""
    text = unicodedata.normalize("NFKC", text)
    for module, names in _IMPORT.findall(text):
        yield from _imported(module, _WORD.findall(names), words)
    for file, before, path, mark in set(_PATH.findall(text)):
        if file:
            yield file
        if before == "in " and path.startswith("sys.modules"):
            continue
        yield from _ending_with(words, path)
        if mark == "=" and "." in path and not before.startswith(":"):  # a default of an annotated name
            yield f"{path} ="
        if mark.startswith("(") and path.rpartition(".")[2] in words and before != "def ":
            yield from (f"{path}()", f"{path}(0)") if mark > "(" else (f"{path}()",)


def _ending_with(words: frozenset[str], path: str) -> Iterator[str]:
    """Of a path the beginnings that end with one of the words; of ``_C._x.y`` perhaps ``_C._x``."""
    parts = path.split(".")
    return (".".join(parts[:n]) for n, part in enumerate(parts, 1) if part in words)


def _imported(module: str, names: list[str], words: frozenset[str]) -> Iterator[str]:
    """The paths of ``import module``, or of ``from module import names``."""
    package = module.partition(".")[0]
    if package in words:
        yield f"import {package}"
    yield from _ending_with(words, module)
    yield from (f"{module}.{name}" for name in names if name in words)


class _Reader:
    """Walks through the syntax tree of a cell."""

    def __init__(self, words: frozenset[str]) -> None:
        self._words = words
        self._named: set[str] = set()
        self._aliases: list[tuple[str, str]] = []
        self._rebound: set[str] = set()
        self._passed: set[int] = set()  # nodes that are only compared or walked through, or name an alias
        self._joined: set[int] = set()  # sums that are part of a sum that was read
        self._readers: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Constant: self._literal,
            ast.BinOp: self._sum,
            ast.Call: self._call,
            ast.Compare: self._compare,
            **dict.fromkeys((ast.For, ast.comprehension), self._loop),
            **dict.fromkeys((ast.Assign, ast.NamedExpr), self._assign),
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), self._other_names),
            **dict.fromkeys((ast.keyword, ast.arg, ast.MatchClass), self._other_names),
        }

    def read(self, tree: ast.Module) -> Paths:
        for node in ast.walk(tree):
            if reader := self._readers.get(type(node)):
                reader(node)
        return Paths(frozenset(self._named), tuple(self._aliases), frozenset(self._rebound))

    def _name(self, node: ast.Name) -> None:
        if node.id in self._words:
            self._named.add(node.id)
        if isinstance(node.ctx, ast.Store) and id(node) not in self._passed:
            self._rebound.add(node.id)

    def _attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._named.add(f"{_path(node)} =")
        if node.attr in self._words:
            path = _path(node)
            if path != "sys.modules" or id(node) not in self._passed:
                self._named.add(path)

    def _literal(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._named.update(_paths_in_text(node.value, self._words))

    def _sum(self, node: ast.BinOp) -> None:
        if id(node) in self._joined or not isinstance(node.op, ast.Add):
            return
        sums, sides = _summands(node)
        self._joined.update(map(id, sums))
        self._named.update(_paths_in_text("".join(_constant(side) or "\n" for side in sides), self._words))
        if id(node) not in self._passed:  # an address may be compared with another
            calls = (_path(side) for side in sides if isinstance(side, ast.Call))
            self._named.update(f"{path} +" for path in calls if path.endswith(".data_ptr()"))

    def _compare(self, node: ast.Compare) -> None:
        self._passed.update(map(id, [node.left, *node.comparators]))

    def _loop(self, node: ast.For | ast.comprehension) -> None:
        self._passed.add(id(node.iter))

    def _assign(self, node: ast.Assign | ast.NamedExpr) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        path = _path(node.value)
        if path == "type()" or (path and "(" not in path and not path.startswith(".")):
            names = [target for target in targets if isinstance(target, ast.Name)]
            self._aliases += [(name.id, path) for name in names]
            self._passed.update(map(id, names))

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._named.update(_imported(alias.name, [], self._words))
        self._aliases += [(alias.asname, alias.name) for alias in node.names if alias.asname]

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        self._named.update(_imported(module, [alias.name for alias in node.names], self._words))
        self._aliases += [(alias.asname or alias.name, f"{module}.{alias.name}") for alias in node.names]

    def _call(self, node: ast.Call) -> None:
        name = _last(node.func)
        if name in _IMPORTING:
            self._named.update(_imported(_path(node), [], self._words))
        elif name in _GETTING:
            self._named.update(_ending_with(self._words, _path(node)))
        elif name in _SETTING:
            self._named.add(f"{_looked_up(node)} =")
        if name in self._words:
            self._called(node)

    def _called(self, node: ast.Call) -> None:
        path = _path(node.func)
        self._named.add(f"{path}()")
        self._named.update(f"{path}({text})" for text in map(_text, node.args) if text in self._words)
        if any(isinstance(a, ast.Constant) and type(a.value) is int for a in node.args[:1]):
            self._named.add(f"{path}(0)")
        if any(isinstance(a, ast.BinOp | ast.JoinedStr | ast.Call) for a in node.args[1:2]):
            self._named.add(f"{path}(computed)")

    def _other_names(self, node: ast.AST) -> None:
        """Names that are no expressions: of a definition, a keyword, an argument, a pattern."""
        names = [getattr(node, field, None) for field in ("name", "arg")] + getattr(node, "kwd_attrs", [])
        self._named.update(f".{name}" for name in names if name in self._words)
        if isinstance(node, ast.arg):
            self._rebound.add(node.arg)


def _last(node: ast.AST) -> str | None:
    """The last word of a path."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def _path(node: ast.AST) -> str:
    """The path of an expression; it begins with a dot, or is empty, where its object has no name."""
    if isinstance(node, ast.Attribute):
        return f"{_path(node.value)}.{node.attr}"
    if isinstance(node, ast.Name):
        return node.id
    if not isinstance(node, ast.Call):
        return _path(node.value) if isinstance(node, ast.NamedExpr) else ""
    name = _last(node.func)
    if name in _IMPORTING:
        return "".join(filter(None, map(_text, node.args[:1])))
    return _looked_up(node) if name in _GETTING else f"{_path(node.func)}()"


def _looked_up(call: ast.Call) -> str:
    """What ``getattr(object, name)`` gets; a star stands for a name that is no text."""
    return f"{_path(call.args[0])}.{_text(call.args[1]) or '*'}" if call.args[1:] else ""


def _text(node: ast.AST) -> str | None:
    """The text of a literal, or of a sum of literals."""
    pieces = [_constant(side) for side in _summands(node)[1]]
    return None if None in pieces else "".join(filter(None, pieces))


def _constant(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _summands(node: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """The sums that a sum is made of, itself among them, and what they add up, from left to right."""
    sums, sides, pending = list[ast.AST](), list[ast.AST](), [node]
    while pending:
        side = pending.pop()
        if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Add):
            sums.append(side)
            pending += [side.right, side.left]
        else:
            sides.append(side)
    return sums, sides
