"""A notebook's names: the cells that gave them their values, and the names that are answers.

Demonstrations use variables such as ``step``, ``loss`` or ``state``, and so do students. So an answer sees
the names as they were when its ``grader.check`` cell ran, and changes that students' cells made below it. It
does not see changes that unchanged cells of the course made below it. Between cells, names are the same as in
Jupyter.
"""

from __future__ import annotations
import __future__

import ast
import dis
import types
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from .originals import builtins_copy, class_dict_of, identity, raw_class_name

__builtins__ = builtins_copy()

_EXTENDED, _STORE = dis.opmap["EXTENDED_ARG"], dis.opmap["STORE_NAME"]
POSTPONED = __future__.annotations.compiler_flag


#: Compiled cells of a notebook, by the file name in their functions.
Sources = dict[str, str]


_MISSING = object()


class NameHistory:
    """The cells that gave a notebook's names their values.

    Attributes:
        demonstrations: the released cells, without starter code, in the form of ``text_of``.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values
        self.demonstrations: frozenset[str] = frozenset()
        self._own: set[str] = set()  # names defined by a student's cell
        self._used: set[str] = set()  # names that occur in students' cells
        self._given_in: dict[str, int] = {}  # the number of a cell; a demonstration's where it is no own name
        #: Demonstrations that changed a name since a student's cell last defined it, and the values before.
        self._replaced: dict[str, list[tuple[int, Any]]] = {}
        self._is_own: bool | None = None  # whether the cell that runs is a student's; None between cells
        self._before: dict[str, int] = {}  # the identities of all values before the cell that runs

    def run(self, code: types.CodeType, text: str, run: Callable[[], None]) -> None:
        """Run a cell, whose text is ``text_of(code)``, and track the names that it changes.

        Code that runs meanwhile, below a magic, is part of the cell.
        """
        number, is_own = cell_of(code.co_filename) or 0, text not in self.demonstrations
        if self._is_own is not None:
            self._used |= _names_used(code) if self._is_own else set()
            run()
            return
        self._used |= _names_used(code) if is_own else set()
        # No value is kept alive longer than needed, because a student's cell may observe that it is freed.
        before = {} if is_own else {name: self._values.get(name, _MISSING) for name in self._own | self._used}
        self._before = {name: identity(value) for name, value in self._values.items()}
        ran_through, self._is_own = False, is_own
        try:  # and no context manager: contextlib writes into what a student raises
            run()
            ran_through = True
        finally:
            given, self._is_own = self._changed(), None
            if is_own:
                given |= _stored(code) & self._values.keys() if ran_through else set()
                self._own = (self._own | given) & self._values.keys()
            for name in given:
                if is_own:
                    self._replaced.pop(name, None)
                elif name in before:
                    self._replaced.setdefault(name, []).append((number, before[name]))
                if is_own or name not in self._own:
                    self._given_in[name] = number

    def own_names(self) -> set[str]:
        """The names that students' cells have defined so far, including the running cell."""
        given = self._changed() if self._is_own else set()
        return (self._own | given) & self._values.keys()

    def given_in(self, name: str) -> int | None:
        """The number of the cell that defined a name; None if no cell did."""
        return self._given_in.get(name)

    def seen_by(self, answer: str, checks: Collection[int]) -> dict[str, Any]:
        """The values that an answer sees, once all cells have run.

        Args:
            answer: its name.
            checks: the numbers of the cells that check it. The first one after the answer counts; if there is
                none, the answer's own cell.
        """
        given = self.given_in(answer)
        seen = dict(self._values)
        if given is None:
            return seen
        last = min((number for number in checks if number >= given), default=given)
        for name, replaced in self._replaced.items():
            seen[name] = next((v for number, v in replaced if number > last), seen.get(name, _MISSING))
        return {name: value for name, value in seen.items() if value is not _MISSING}

    def _changed(self) -> set[str]:
        """The names that the running cell has changed so far."""
        before, values = self._before, self._values
        given = {name for name, value in values.items() if before.get(name) != identity(value)}
        return given | (before.keys() - values.keys())


def cell_of(file: str) -> int | None:
    """The number of a cell, from the name of its file; None if it is not a cell's."""
    digits = file.removeprefix("<cell ").rstrip(">").partition(",")[0]
    return int(digits) if file.startswith("<cell ") and digits.isdecimal() and len(digits) < 6 else None


def text_of(code: types.CodeType) -> str:
    """A normalized text of code, without comments, blank lines and formatting."""
    arguments = code.co_argcount, code.co_kwonlyargcount, code.co_varnames, code.co_freevars
    return repr((code.co_code, code.co_names, arguments, *map(_text_of_constant, code.co_consts)))


def _text_of_constant(constant: Any) -> str:
    if isinstance(constant, types.CodeType):
        return text_of(constant)
    try:
        return repr(constant)
    except ValueError:  # an int of thousands of digits
        return str(hash(constant))


def _names_used(code: types.CodeType) -> set[str]:
    """The names that a cell uses or defines anywhere, including names of attributes."""
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return {*code.co_names}.union(*map(_names_used, inner))


def _stored(code: types.CodeType) -> set[str]:
    """Names that a cell assigns at its top level, even if the value is the same as before."""
    names, high, content = set(), 0, code.co_code
    for operation, low in zip(content[::2], content[1::2], strict=True):
        argument = high | low
        high = argument << 8 if operation == _EXTENDED else 0
        if operation == _STORE:
            names.add(code.co_names[argument])
    return names


# Whether a name is an answer, starter code or missing; this runs no code of the notebook.


def answer_status(starter_code: str, name: str, names: Mapping[str, Any], sources: Sources) -> str:
    """``missing``, ``untouched`` (starter code) or ``answered``, for a name that the notebook should define.

    Syntax trees are compared without docstrings, so starter code that was only moved, reformatted or
    commented is still starter code.
    """
    if name not in names:
        return "missing"
    value = names[name]
    try:
        asked, used = parse_starter_code(starter_code)
        if type(value) is types.FunctionType and _names_in(value.__code__) not in used:
            return "answered"  # without a look at its text, which takes much longer
        definitions = _definitions_of(value, sources)
        is_starter_code = bool(definitions) and all(d and _is_same(d, asked) for d in definitions)
    except Exception:  # no definition of a student's may break the survey
        return "answered"
    return "untouched" if is_starter_code else "answered"


def answer_above(starter_code: str, name: str, last: int, sources: Sources) -> int | None:
    """The last cell that defines a name otherwise than the starter code, not below a cell; None if none does.

    Args:
        last: the number of the cell whose definition, the starter code, counts.
    """
    found = None
    asked, _ = parse_starter_code(starter_code)
    for file, text in sources.items():
        number = cell_of(file)
        if number is None or number > last or name not in text:
            continue
        with suppress(Exception):  # no definition of a student's may break the survey
            definitions = [s for s in _statements(text) if _defines(s, name)]
            if any(not _is_same(each, asked) for each in definitions):
                found = max(number, found or 0)
    return found


def _defines(statement: ast.stmt, name: str) -> bool:
    """Whether a statement is a definition of this name, or assigns a lambda to it."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda):
        return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)
    return (
        isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and statement.name == name
    )


_Names = tuple[tuple[str, ...], tuple[str, ...]]


@cache
def parse_starter_code(source: str) -> tuple[ast.stmt, list[_Names]]:
    """The syntax of starter code, and the names it uses, with and without postponed annotations."""
    definition = ast.parse(source).body[0]
    modules = (compile(source, "<starter>", "exec", flags, dont_inherit=True) for flags in (0, POSTPONED))
    codes = (code for module in modules for code in module.co_consts if isinstance(code, types.CodeType))
    return definition, [_names_in(c) for c in codes if c.co_name == getattr(definition, "name", None)]


def _names_in(code: types.CodeType) -> _Names:
    """The names in compiled code, which don't depend on docstrings and formatting."""
    return code.co_names, code.co_varnames


def _definitions_of(value: Any, sources: Sources) -> list[ast.stmt | None]:
    """The top-level definition of a function, or of each method of a class; None if it is in no cell."""
    is_class = issubclass(type(value), type)
    candidates = class_dict_of(value).values() if is_class else [value]
    functions = [c.__func__ if type(c) in (staticmethod, classmethod) else c for c in candidates]
    codes = [f.__code__ for f in functions if type(f) is types.FunctionType]
    if is_class and not codes:  # starter code without methods: the last class of that name counts
        return [_last_class(raw_class_name(value), sources)]
    return [_definition_at(code.co_filename, code.co_firstlineno, sources) for code in codes]


def _definition_at(file: str, line: int, sources: Sources) -> ast.stmt | None:
    statements = _statements(sources.get(file, ""))
    return next((s for s in statements if s.lineno <= line <= (s.end_lineno or 0)), None)


@cache
def _statements(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def _last_class(name: str, sources: Sources) -> ast.stmt | None:
    for file in reversed(sources):
        with suppress(SyntaxError):
            for statement in reversed(_statements(sources[file])):
                if isinstance(statement, ast.ClassDef) and statement.name == name:
                    return statement
    return None


def _is_same(one: Any, other: Any) -> bool:
    """Whether two syntax trees are equal except for docstrings; an answer usually differs early."""
    if type(one) is not type(other):
        return False
    if isinstance(one, ast.AST):
        pairs = ((_field(one, name), _field(other, name)) for name in one._fields)
        return all(_is_same(*pair) for pair in pairs)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)


def _field(node: ast.AST, name: str) -> Any:
    value: Any = getattr(node, name, None)
    if (
        name == "body"
        and isinstance(node, ast.FunctionDef | ast.ClassDef)
        and ast.get_docstring(node, clean=False) is not None
    ):
        return value[1:]
    return value
