"""Which cells gave a notebook's names their values.

Demonstrations have loops and variables called ``step``, ``loss`` or ``state``, and so have students' cells.
What a cell that is still as it was handed out takes from a student's cell is kept, and put back once all
cells have run. Between cells a notebook is what it is in Jupyter.
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from .errors import error_text, innermost
from .snapshots import MISSING

_EXTENDED, _STORE = dis.opmap["EXTENDED_ARG"], dis.opmap["STORE_NAME"]
_class_name = type.__dict__["__name__"].__get__


class Binding(NamedTuple):
    """A cell (its code) that gave a name a value of a class; no class where the cell deleted the name."""

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

    def begin(self, handed_out: Iterable[str]) -> None:
        """Before the first cell: the texts, as ``text_of`` gives them, of the cells that were handed out."""
        self._handed_out = frozenset(handed_out)

    def run(self, code: types.CodeType, text: str, run: Callable[[], None]) -> None:
        """Run a cell and follow what it does to names; a piece of it, below a magic, is part of the cell.

        The text is that of the code, as ``text_of`` gives it.
        """
        if self._is_following:
            run()
            return
        is_own = text not in self._handed_out
        kept = {} if is_own else {name: self._names[name] for name in self._own & self._names.keys()}
        before = _identities(self._names)  # a value is not kept alive: a student's cell may watch it die
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
            if before.get(name) != id(self._names[name]):
                self._taken.pop(name, None)

    def of(self, name: str) -> list[Binding]:
        """The cells that gave a name its values, each as often as it ran, without what was put back."""
        return self._history.get(name, [])

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
    """What a piece of code does, as a text; comments, blank lines and formatting are not in it."""
    arguments = code.co_argcount, code.co_kwonlyargcount, code.co_varnames, code.co_freevars
    return repr((code.co_code, code.co_names, arguments, *map(_text_of_constant, code.co_consts)))


def _text_of_constant(constant: Any) -> str:
    if isinstance(constant, types.CodeType):
        return text_of(constant)
    try:
        return repr(constant)
    except ValueError:  # an int of thousands of digits
        return str(hash(constant))


def _identities(names: Mapping[str, Any]) -> dict[str, int]:
    return {name: id(value) for name, value in names.items()}


def _changed(before: Mapping[str, int], names: Mapping[str, Any]) -> set[str]:
    """Names that were given another value, or deleted."""
    given = {name for name, value in names.items() if before.get(name) != id(value)}
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


# Errors whose cause is that a cell took a name from another cell.

_BINDING = {"STORE_NAME", "STORE_GLOBAL", "DELETE_NAME", "DELETE_GLOBAL"}
_LOADING = {"LOAD_NAME", "LOAD_GLOBAL"}
_python = dict(vars(builtins))


def rebound(error: BaseException, bindings: Bindings, names: Mapping[str, Any]) -> dict[str, Any] | None:
    """The name that caused an error because a cell took it from another; None where there is none.

    Returns:
        The fields of ``grader.sandbox.facts.Rebound``.
    """
    with suppress(Exception):  # whatever a student's objects do: it is only a remark
        for name in _suspects(error, names):
            rebinding = _rebinding(name, bindings.of(name))
            if rebinding and (rebinding["was"] != rebinding["now"] or _complains_of(name, error)):
                return rebinding
    return None


def _suspects(error: BaseException, names: Mapping[str, Any]) -> Iterator[str]:
    """Names that may be the cause: the missing name, or those on the line that failed."""
    trace = innermost(error)
    if type(error) is NameError:
        yield str(error.name)
    elif type(error) is AttributeError and trace:
        yield from (n for n in trace.tb_frame.f_code.co_names if names.get(n, MISSING) is error.obj)
    elif type(error) is TypeError and trace:
        text = error_text(error)
        for name in _loaded(trace.tb_frame.f_code, trace.tb_lasti):
            if name in names and (f"'{kind_of(names[name])}'" in text or _complains_of(name, error)):
                yield name


def _complains_of(name: str, error: BaseException) -> bool:
    """Whether Python says that a function of this name was not called as it is defined."""
    return error_text(error).startswith(f"{name}()")


def _loaded(code: types.CodeType, instruction: int) -> Iterator[str]:
    """The global names in the expression that an instruction belongs to."""
    spans = list(code.co_positions())
    first, last, begin, end = spans[instruction // 2]
    for operation in dis.get_instructions(code):
        at = operation.positions
        if operation.opname not in _LOADING or at is None or None in (at.lineno, at.end_lineno, first, last):
            continue
        if (first, begin) <= (at.lineno, at.col_offset) and (at.end_lineno, at.end_col_offset) <= (last, end):
            yield operation.argval


def _rebinding(name: str, history: list[Binding]) -> dict[str, Any] | None:
    if not history or not history[-1].is_own:
        return None
    taker = history[-1]
    before = next((b for b in reversed(history) if b.kind and b.code is not taker.code), None)
    was = before.kind if before else kind_of(_python[name]) if name in _python else None
    if was is None:
        return None
    return {
        "name": name[:100],
        "was": was,
        "given": cell_of(before.code.co_filename) if before else None,
        "now": taker.kind,
        "cell": cell_of(taker.code.co_filename),
        "line": _line_of(name, taker.code),
    }


def _line_of(name: str, code: types.CodeType) -> int | None:
    """Where a cell binds a name for the last time."""
    lines = [
        operation.positions.lineno
        for operation in dis.get_instructions(code)
        if operation.opname in _BINDING and operation.argval == name and operation.positions
    ]
    return lines[-1] if lines else None
