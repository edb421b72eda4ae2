"""Inside: tells of an error that it came about because one cell of a notebook took a name from another."""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from .bindings import Binding, Bindings, cell_of, kind_of
from .facts import error_text, innermost
from .namespace import MISSING

_BINDING = {"STORE_NAME", "STORE_GLOBAL", "DELETE_NAME", "DELETE_GLOBAL"}
_LOADING = {"LOAD_NAME", "LOAD_GLOBAL"}
_python = dict(vars(builtins))


def rebound(error: BaseException, bindings: Bindings, names: Mapping[str, Any]) -> dict[str, Any] | None:
    """The name behind an error, what it was and what it is now; None where no name is.

    Returns:
        ``name``; ``was`` and ``now``, the classes of the two values, ``now`` empty where it was deleted;
        ``given``, the cell it had the first from, None for what Python itself gives; ``cell`` and
        ``line`` of what took it, the line None where nobody knows it.
    """
    with suppress(Exception):  # whatever a student's objects do: it is only a remark
        for name in _suspects(error, names):
            story = _story(name, bindings.of(name))
            if story and (story["was"] != story["now"] or _complains_of(name, error)):
                return story
    return None


def _suspects(error: BaseException, names: Mapping[str, Any]) -> Iterator[str]:
    """Names of the notebook that may be why: the one that is missing, or those in what could not be done."""
    place = innermost(error)
    if type(error) is NameError:
        yield str(error.name)
    elif type(error) is AttributeError and place:
        yield from (n for n in place.tb_frame.f_code.co_names if names.get(n, MISSING) is error.obj)
    elif type(error) is TypeError and place:
        text = error_text(error)
        for name in _loaded(place.tb_frame.f_code, place.tb_lasti):
            if name in names and (f"'{kind_of(names[name])}'" in text or _complains_of(name, error)):
                yield name


def _complains_of(name: str, error: BaseException) -> bool:
    """Whether Python says that a function of this name was not called as it is defined."""
    return error_text(error).startswith(f"{name}()")


def _loaded(code: types.CodeType, instruction: int) -> Iterator[str]:
    """The global names in the expression that an instruction belongs to."""
    spans = list(code.co_positions())
    first, last, begin, end = spans[instruction // 2]
    for one in dis.get_instructions(code):
        at = one.positions
        if one.opname not in _LOADING or at is None or None in (at.lineno, at.end_lineno, first, last):
            continue
        if (first, begin) <= (at.lineno, at.col_offset) and (at.end_lineno, at.end_col_offset) <= (last, end):
            yield one.argval


def _story(name: str, history: list[Binding]) -> dict[str, Any] | None:
    if not history or not history[-1].is_own:
        return None
    taker = history[-1]
    before = next((one for one in reversed(history) if one.kind and one.code is not taker.code), None)
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
    found = [
        one.positions.lineno
        for one in dis.get_instructions(code)
        if one.opname in _BINDING and one.argval == name and one.positions
    ]
    return found[-1] if found else None
