"""A notebook's names: which cells gave them their values, and which of them are answers.

Demonstrations have loops and variables called ``step``, ``loss`` or ``state``, and so have students' cells.
What a cell that is still as it was handed out takes from a student's cell is kept, and put back once all
cells have run. Between cells a notebook is what it is in Jupyter.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import dis
import types
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from . import identity

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_EXTENDED, _STORE = dis.opmap["EXTENDED_ARG"], dis.opmap["STORE_NAME"]
_class_name, _class_dict = (type.__dict__[name].__get__ for name in ("__name__", "__dict__"))
POSTPONED = __future__.annotations.compiler_flag


#: What was compiled of a notebook, by the file name that its functions carry.
Sources = dict[str, str]


class Binding(NamedTuple):
    """A cell (its code) that gave a name a value of a class, ``kind``; empty where it deleted the name."""

    code: types.CodeType
    kind: str
    is_own: bool


class Bindings:
    """The bindings of a notebook."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._handed_out: frozenset[str] = frozenset()
        self._own: set[str] = set()  # names that a student's cell gave
        self._taken: dict[str, Any] = {}  # of these, the values that cells as handed out took away
        self._history: dict[str, list[Binding]] = {}
        self._is_following = False
        self._before: dict[str, int] = {}  # ids of values before the cell that runs, if it is a student's

    def begin(self, handed_out: Iterable[str]) -> None:
        """Before the first cell: the cells that were handed out, as ``text_of`` gives them."""
        self._handed_out = frozenset(handed_out)

    def run(self, code: types.CodeType, text: str, run: Callable[[], None]) -> None:
        """Run a cell, whose text is ``text_of(code)``, and follow what it does to names.

        What runs meanwhile, below a magic, is part of the cell.
        """
        if self._is_following:
            run()
            return
        is_own = text not in self._handed_out
        kept = {} if is_own else {name: self._names[name] for name in self._own & self._names.keys()}
        # The ids: a value is not kept alive, for a student's cell may watch it die.
        before = {name: identity(value) for name, value in self._names.items()}
        self._before = before if is_own else {}
        ran_through, self._is_following = False, True
        try:  # and no context manager: contextlib writes into what a student raises
            run()
            ran_through = True
        finally:
            self._is_following = False
            given = _changed(before, self._names)
            if is_own:
                given |= _stored(code) & self._names.keys() if ran_through else set()
                self._note_own(given, before)
            self._taken = {name: value for name, value in kept.items() if name in given} | self._taken
            for name in given if is_own else given - self._own:
                kind = kind_of(self._names[name]) if name in self._names else ""
                self._history.setdefault(name, []).append(Binding(code, kind, is_own))

    def _note_own(self, given: set[str], before: Mapping[str, int]) -> None:
        """Names that a student's cell gave, or deleted, are its own; what was taken before is forgotten."""
        for name in given:
            if name not in self._names:
                self._own.discard(name)
                self._taken.pop(name, None)
                continue
            self._own.add(name)
            if before.get(name) != identity(self._names[name]):
                self._taken.pop(name, None)

    def own_names(self) -> set[str]:
        """The names that students' cells gave so far, the cell that runs included."""
        given = _changed(self._before, self._names) if self._before else set()
        return (self._own | given) & self._names.keys()

    def of(self, name: str) -> list[Binding]:
        """The cells that gave a name its values, each as often as it ran."""
        return self._history.get(name, [])

    def cell_of(self, name: str) -> int | None:
        """The number of the cell that gave a name its value; None where no cell did."""
        history = self.of(name)
        return cell_of(history[-1].code.co_filename) if history else None

    def put_back(self) -> None:
        """Once all cells have run: give the names their student's values again."""
        self._names.update(self._taken)
        self._taken.clear()


def kind_of(value: Any) -> str:
    """The name of a value's class, read past any metaclass of the student's."""
    return str(_class_name(type(value)))[:100]


def cell_of(file: str) -> int | None:
    """The number of the cell that a file is, by its name; None where it is none."""
    digits = file.removeprefix("<cell ").rstrip(">").partition(",")[0]
    return int(digits) if file.startswith("<cell ") and digits.isdecimal() and len(digits) < 6 else None


def text_of(code: types.CodeType) -> str:
    """What a piece of code does, as a text without comments, blank lines and formatting."""
    arguments = code.co_argcount, code.co_kwonlyargcount, code.co_varnames, code.co_freevars
    return repr((code.co_code, code.co_names, arguments, *map(_text_of_constant, code.co_consts)))


def _text_of_constant(constant: Any) -> str:
    if isinstance(constant, types.CodeType):
        return text_of(constant)
    try:
        return repr(constant)
    except ValueError:  # an int of thousands of digits
        return str(hash(constant))


def _changed(before: Mapping[str, int], names: Mapping[str, Any]) -> set[str]:
    given = {name for name, value in names.items() if before.get(name) != identity(value)}
    return given | (before.keys() - names.keys())


def _stored(code: types.CodeType) -> set[str]:
    """Names to which a cell gives a value at its top level; it may be the same value as before."""
    names, high, content = set(), 0, code.co_code
    for operation, low in zip(content[::2], content[1::2], strict=True):
        argument = high | low
        high = argument << 8 if operation == _EXTENDED else 0
        if operation == _STORE:
            names.add(code.co_names[argument])
    return names


# Whether a name is an answer, the stub or missing; nothing of the notebook is run.


def answer_status(stub: str, name: str, names: Mapping[str, Any], sources: Sources) -> str:
    """``missing``, ``untouched`` (still the stub) or ``answered``, for a name the notebook should define.

    Syntax trees are compared without docstrings, so a stub that was only moved, reformatted or commented is
    still the stub.
    """
    if name not in names:
        return "missing"
    value = names[name]
    try:
        asked, used = parse_stub(stub)
        if type(value) is types.FunctionType and _names_in(value.__code__) not in used:
            return "answered"  # without a look at its text, which takes much longer
        definitions = _definitions_of(value, sources)
        untouched = bool(definitions) and all(d and _is_same(d, asked) for d in definitions)
    except Exception:  # nothing a student defined may break the survey
        return "answered"
    return "untouched" if untouched else "answered"


_Names = tuple[tuple[str, ...], tuple[str, ...]]


@cache  # filled in the zygote, for all workers
def parse_stub(stub: str) -> tuple[ast.stmt, list[_Names]]:
    """The syntax of a stub, and the names that a function uses, with and without postponed annotations."""
    definition = ast.parse(stub).body[0]
    modules = (compile(stub, "<stub>", "exec", flags, dont_inherit=True) for flags in (0, POSTPONED))
    codes = (code for module in modules for code in module.co_consts if isinstance(code, types.CodeType))
    return definition, [_names_in(c) for c in codes if c.co_name == getattr(definition, "name", None)]


def _names_in(code: types.CodeType) -> _Names:
    """What no docstring and no formatting changes."""
    return code.co_names, code.co_varnames


def _definitions_of(value: Any, sources: Sources) -> list[ast.stmt | None]:
    """The top-level definition of a function, or of each method of a class; None where it is in no cell."""
    is_class = issubclass(type(value), type)
    candidates = _class_dict(value).values() if is_class else [value]
    functions = [c.__func__ if type(c) in (staticmethod, classmethod) else c for c in candidates]
    codes = [f.__code__ for f in functions if type(f) is types.FunctionType]
    if is_class and not codes:  # a stub without methods; the last class of that name it must be
        return [_last_class(_class_name(value), sources)]
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
    """Whether two pieces of syntax are the same but for docstrings; an answer differs early on."""
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
