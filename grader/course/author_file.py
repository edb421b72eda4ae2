"""Author's files as text and as syntax: their blanks, and which of their statements need each other.

A blank reads ``[FILL IN: what belongs here]``. In code it is a syntax error on purpose: code that still has a
blank never runs by accident. An error names file and line.
"""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from grader.errors import CourseError

_BLANK = re.compile(r"\[FILL IN\b:?\s*(?P<wanted>[^]\n]*)\]?")


def read_text(path: Path) -> str:
    """The text of a file of the course, with line ends as Python counts them.

    Raises:
        CourseError: the file cannot be read or is not UTF-8; the text names the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise CourseError(f"{path} is not UTF-8 (line {line}): save it as UTF-8") from error
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}") from error
    if text.startswith("\ufeff"):
        raise CourseError(f"{path} begins with a byte order mark: save it as UTF-8 without one")
    return text


def text_if_readable(path: Path) -> str | None:
    """The text of a file of the course; None where `read_text` complains that it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def read_syntax(path: Path) -> ast.Module:
    """The syntax of a Python file of the course, with a name in the place of each blank.

    Raises:
        CourseError: the file cannot be read or is not Python; the text names the line.
    """
    try:
        return ast.parse(without_blanks(read_text(path)), path.name)
    except SyntaxError as error:
        raise CourseError(f"{path}, line {error.lineno}: {not_python(error)}") from error
    except ValueError as error:
        raise CourseError(f"{path} is not Python: {error}") from error


def not_python(error: SyntaxError) -> str:
    """Python's message about a line that it cannot read, and the line."""
    line = (error.text or "").strip()
    return f"this is not valid Python ({error.msg}){f': `{line}`' if line else ''}"


@dataclass(frozen=True)
class Blank:
    """A blank: its file, its line counted from 1, and what belongs there."""

    path: Path
    line: int
    wanted: str

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.wanted}"


def has_blank(text: str) -> bool:
    """Whether a text has a blank."""
    return _BLANK.search(text) is not None


def without_blanks(text: str) -> str:
    """The text with a name of its own in the place of each blank, so that it can be parsed; lines stay."""
    numbers = count(1)
    return _BLANK.sub(lambda _: f"FILL_IN_{next(numbers)}", text)


def blanks_in(path: Path) -> list[Blank]:
    """The blanks of a file, in order; none if it cannot be read, which `read_text` complains about."""
    text = text_if_readable(path) or ""
    return [
        Blank(path, text.count("\n", 0, match.start()) + 1, match["wanted"].strip())
        for match in _BLANK.finditer(text)
    ]


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement at the top of a file: the names it defines, and the names of the file or Python it uses."""

    node: ast.stmt
    defines: frozenset[str]
    needs: frozenset[str]

    @classmethod
    def of(cls, node: ast.stmt) -> Statement:
        """The statement of a node; the arguments of a check are probes that it needs."""
        table = symtable.symtable(ast.unparse(node), "<names>", "exec")
        defines = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
        needs = global_names(table)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            needs |= {argument.arg for argument in node.args.args}
        return cls(node, frozenset(defines), frozenset(needs))

    def lines(self, file_lines: Sequence[str]) -> Sequence[str]:
        """Its lines among those of its file, decorators included."""
        decorators: list[ast.expr] = getattr(self.node, "decorator_list", [])
        first = min([self.node.lineno, *(decorator.lineno for decorator in decorators)])
        return file_lines[first - 1 : self.node.end_lineno]


def global_names(table: symtable.SymbolTable) -> set[str]:
    """The names that code takes from outside its own functions and classes."""
    symbols = (symbol for scope in scopes(table) for symbol in scope.get_symbols())
    return {symbol.get_name() for symbol in symbols if symbol.is_global() and symbol.is_referenced()}


def scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """A scope and all scopes inside it."""
    yield table
    for child in table.get_children():
        yield from scopes(child)


def closure(statements: Sequence[Statement], names: Iterable[str]) -> set[str]:
    """Some names and all that their definitions need, directly or not.

    Statements that define no name are always needed.
    """
    wanted: set[str] = set()
    new = set(names).union(*(s.needs for s in statements if not s.defines))
    while new:
        wanted |= new
        new = set().union(*(s.needs for s in statements if s.defines & new)) - wanted
    return wanted


def needed(statements: Sequence[Statement], names: Iterable[str]) -> list[Statement]:
    """The statements that some names need, in their order."""
    wanted = closure(statements, names)
    return [statement for statement in statements if not statement.defines or statement.defines & wanted]


def without(statements: Sequence[Statement], left_out: Sequence[Statement]) -> list[Statement]:
    """The statements without some of them, and without all that need what these define."""
    missing = frozenset[str]().union(*(statement.defines for statement in left_out))
    kept = [statement for statement in statements if statement not in left_out]
    needing = [statement for statement in kept if statement.needs & missing]
    return without(kept, needing) if needing else kept
