"""Author's files as text and as syntax: their blanks, what is filled in, and what statements need.

A blank reads ``[FILL IN: what belongs here]``. In code it is a syntax error on purpose: code that still has a
blank never runs by accident. To read the rest, each blank is first replaced by a name, so that the file
parses. Then each definition that has a blank is left out, with all definitions that need it. A question whose
cell in the master has a blank is left out of everything, since its answer is unknown.
"""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path

from grader.course.assignment import ANSWERS, CHECKS, IDENTITY, MASTER
from grader.errors import CourseError

_MAX_SHOWN = 3

_BLANK = re.compile(r"\[FILL IN\b:?\s*(?P<wanted>[^]\n]*)\]?")
_CELL = re.compile(r"(?m)^# %%.*$")
_QUESTION_TAG = re.compile(rf'"question ({IDENTITY})"')
_FUNCTION = re.compile(r"(?m)^(?:def|class) (\w+)")


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


def _text_if_readable(path: Path) -> str | None:
    """The text of a file; None where `read_text` complains that it cannot be read."""
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
    """The blanks of a file, in order; none if it cannot be read."""
    text = _text_if_readable(path) or ""
    return [
        Blank(path, text.count("\n", 0, match.start()) + 1, match["wanted"].strip())
        for match in _BLANK.finditer(text)
    ]


def blanks_of(root: Path, stem: str) -> list[Blank]:
    """The blanks of an assignment: of its master, its hidden checks and its known answers."""
    return [blank for kind in (MASTER, CHECKS, ANSWERS) for blank in blanks_in(root / kind.format(stem))]


def require_finished(root: Path, stem: str) -> None:
    """Refuse an assignment that has blanks; the CourseError names the first of them with file and line."""
    blanks = blanks_of(root, stem)
    if not blanks:
        return
    shown = "".join(f"\n  {blank}" for blank in blanks[:_MAX_SHOWN])
    more = f"\n  and {len(blanks) - _MAX_SHOWN} more" if len(blanks) > _MAX_SHOWN else ""
    number = "one blank" if len(blanks) == 1 else f"{len(blanks)} blanks"
    raise CourseError(
        f"{stem} still has {number}; put your text or code in the place of [FILL IN: ...], brackets"
        f" included:{shown}{more}"
    )


def is_whole(path: Path) -> bool:
    """Whether nothing is left out of a check file or a file of answers."""
    text = _text_if_readable(path)
    if text is None:
        return True  # reading the file complains
    return not has_blank(text) and all(function is None for function in _questions(path).values())


def filled_statements(path: Path) -> list[ast.stmt]:
    """The top-level statements of a file of checks or answers without blanks, with their lines in the file.

    Raises:
        CourseError: the file cannot be read, or is not Python apart from its blanks; the text names the line.
    """
    text, nodes = read_text(path), read_syntax(path).body
    unwritten = {function for function in _questions(path).values() if function is not None}
    if not unwritten and not has_blank(text):
        return nodes
    lines, statements = text.splitlines(), [*map(Statement.of, nodes)]
    left_out = [s for s in statements if has_blank("\n".join(s.lines(lines))) or _asks_for(s.node, unwritten)]
    return [statement.node for statement in _without(statements, left_out)]


def questions_left_out(master: Path) -> list[str]:
    """The ids of the questions whose cell in a master has a blank."""
    return [question for question, function in _read_questions(master).items() if function is not None]


def questions_asked(path: Path) -> set[str]:
    """The ids of all questions of the master a check file or a file of answers belongs to, blank or not."""
    return set(_questions(path))


def _questions(path: Path) -> dict[str, str | None]:
    return _read_questions(path.parent.parent.parent / MASTER.format(path.stem.removeprefix("test_")))


def _read_questions(master: Path) -> dict[str, str | None]:
    """For each question's id the function that it asks for, if its cell has a blank, else None."""
    text = _text_if_readable(master) or ""
    questions: dict[str, str | None] = {}
    begins = [match.start() for match in _CELL.finditer(text)]
    for begin, end in pairwise([*begins, len(text)]):
        cell = text[begin:end]
        if tag := _QUESTION_TAG.search(cell.partition("\n")[0]):
            function = _FUNCTION.search(cell)
            questions[tag[1]] = (function[1] if function else "") if has_blank(cell) else None
    return questions


def _asks_for(statement: ast.stmt, functions: set[str]) -> bool:
    """Whether a definition asks its first argument for one of some functions, as a probe does."""
    if not isinstance(statement, ast.FunctionDef) or not statement.args.args:
        return False
    student = statement.args.args[0].arg
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in functions
        and isinstance(node.value, ast.Name)
        and node.value.id == student
        for node in ast.walk(statement)
    )


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
    """Some names and all that their definitions need; statements that define no name are always needed."""
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


def _without(statements: Sequence[Statement], left_out: Sequence[Statement]) -> list[Statement]:
    """The statements without some of them, and without all that need what these define."""
    missing = frozenset[str]().union(*(statement.defines for statement in left_out))
    kept = [statement for statement in statements if statement not in left_out]
    needing = [statement for statement in kept if statement.needs & missing]
    return _without(kept, needing) if needing else kept
