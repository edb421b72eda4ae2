"""Inside: notices what only deceivers need, however it is spelt, and says so before it can be taken back.

Python raises events for some of it (PEP 578; the library's table of audit events): the text of a cell shows
``sys._getframe``, but not ``getattr(sys, "_get" + "frame")``. `wording` reads the rest from the cells. A
notice goes at once into a pipe of its own. It is a reason for a human to look, never a verdict.
"""

from __future__ import annotations

import builtins
import os
import sys
from contextlib import suppress
from types import FrameType
from typing import Any

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_MOST_CELLS = 20  # told of one kind: a flood of one leaves room for the others
#: What each event is a trace of, in the words of ``grader/flags.py``.
_EVENTS = {
    "sys._getframe": "frames",
    "sys._current_frames": "frames",
    "sys._current_exceptions": "frames",
    "gc.get_objects": "gc",
    "gc.get_referrers": "gc",
    "gc.get_referents": "gc",
    "sys.settrace": "settrace",
    "sys.addaudithook": "settrace",
    "code.__new__": "code objects",
    "function.__new__": "code objects",
    "exec": "imports at run time",
    "compile": "imports at run time",
}
_ATTRIBUTES = {
    "__code__": "code objects",
    **dict.fromkeys(("tb_frame", "f_code", "gi_frame", "gi_code", "cr_frame", "ag_frame"), "frames"),
}
_MIDDLEMAN = "/ctypes/__init__.py"  # does it for whoever called it

_frame_of, _write = sys._getframe, os.write
_noticed: dict[str, set[int | None]] = {}  # cells, by what was noticed in them
_pipe = -1
_is_looking = False
_code_was_set = False


def begin(pipe: int) -> None:
    """Watch this process from now on; there is no end to it. Notices go into the pipe."""
    global _pipe
    _pipe = pipe
    sys.addaudithook(_listen)


def code_was_set() -> bool:
    """Whether some function's code was ever exchanged: to compare a thousand of them costs a millisecond."""
    return _code_was_set


def notice(what: str, file: str) -> None:
    """Tell the outside what was found in a cell, by the name of its file."""
    digits = file.removeprefix("<cell ").rstrip(">").partition(",")[0]
    cell = int(digits) if digits.isdecimal() and len(digits) < 6 else None
    cells = _noticed.setdefault(what, set())
    if cell not in cells and len(cells) < _MOST_CELLS:
        cells.add(cell)
        with suppress(OSError):  # the pipe was filled or closed, which the outside sees
            _write(_pipe, f"{what}\t{'' if cell is None else cell}\n".encode())


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    global _is_looking, _code_was_set
    what = _EVENTS.get(event) or ("ctypes" if event.startswith("ctypes.") else None)
    if event in ("object.__getattr__", "object.__setattr__"):
        what = _ATTRIBUTES.get(arguments[1])
        _code_was_set |= event == "object.__setattr__" and arguments[1] == "__code__"
    if what is None or _is_looking:
        return
    _is_looking = True  # looking at frames is an event itself
    try:
        file = _author(_frame_of(1))
        if file.startswith("<") and not file.startswith(("<frozen ", "<probe>", "<__array_function__")):
            notice(what, file)
    finally:
        _is_looking = False


def _author(frame: FrameType | None) -> str:
    """The file of the code on whose behalf it happened."""
    while frame is not None and frame.f_code.co_filename.endswith(_MIDDLEMAN):
        frame = frame.f_back
    return "" if frame is None else frame.f_code.co_filename
