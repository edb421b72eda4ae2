"""Notices what only cheating needs, however it is spelt, and reports it before it can be taken back.

Python raises audit events for some of it (PEP 578); the outside reads the rest from the cells
(`grading/flags.py`). A notice is a reason for a human to look, never a verdict.
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from . import NOTICES
from .names import cell_of

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_MOST_CELLS = 20  # noticed of each kind: a flood of one kind leaves room for the others
#: What each event is a trace of, in the words of ``grader/grading/flags.py``.
_EVENTS = {
    "sys._getframe": "frames",
    "sys._current_frames": "frames",
    "sys._current_exceptions": "frames",
    "gc.get_objects": "gc",
    "gc.get_referrers": "gc",
    "gc.get_referents": "gc",
    "sys.settrace": "settrace",
    "sys.setprofile": "settrace",
    "sys.monitoring.register_callback": "settrace",
    "sys.addaudithook": "settrace",
    "code.__new__": "code objects",
    "function.__new__": "code objects",
    "exec": "imports at run time",
    "compile": "imports at run time",
}
_ATTRIBUTES = {
    **dict.fromkeys(("__code__", "__defaults__", "__kwdefaults__"), "code objects"),
    **dict.fromkeys(("tb_frame", "f_code", "gi_frame", "gi_code", "cr_frame", "ag_frame"), "frames"),
}
_OURS = ("<frozen ", "<probe>", "<__array_function__")
_MIDDLEMAN = "/ctypes/__init__.py"  # acts for its caller

_frame_of, _write = sys._getframe, os.write
_noticed: dict[str, set[int | None]] = {}  # cells, by what was noticed in them
_ignoring: list[None] = []  # not empty while events are ignored
_functions_set: list[None] = []


def begin() -> None:
    """Watch this process until it ends."""
    sys.addaudithook(_listen)


def functions_were_set() -> bool:
    """Whether parts of a function may have been exchanged since the last call of this.

    Only then are thousands of functions compared, which takes some milliseconds.
    """
    if not _functions_set:
        return False
    _functions_set.clear()
    return True


@contextmanager
def ignoring_events() -> Iterator[None]:
    """Ignore the events of the block, which are our own doing and would take time."""
    _ignoring.append(None)
    try:
        yield
    finally:
        _ignoring.clear()


def notice(what: str, file: str) -> None:
    """Report what was noticed in a cell, by the name of its file."""
    cell = cell_of(file)
    cells = _noticed.setdefault(what, set())
    if cell not in cells and len(cells) < _MOST_CELLS:
        cells.add(cell)
        with suppress(OSError):  # the pipe was filled or closed, which the outside sees
            _write(NOTICES, f"{what}\t{'' if cell is None else cell}\n".encode())


def notice_author(what: str, middleman: str) -> bool:
    """Report it if code of the notebook does it, perhaps through a middleman's file; whether it does."""
    file = _author(_frame_of(2), middleman)
    is_of_notebook = file.startswith("<") and not file.startswith(_OURS)
    if is_of_notebook:
        notice(what, file)
    return is_of_notebook


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "builtins.id" or _ignoring:  # which our own code asks for thousands of times
        return
    what = _EVENTS.get(event) or ("ctypes" if event.startswith("ctypes.") else None)
    if event in ("object.__getattr__", "object.__setattr__"):
        what = _ATTRIBUTES.get(arguments[1])
    if what is None:
        return
    with ignoring_events():  # looking at frames is an event itself
        is_of_notebook = notice_author(what, _MIDDLEMAN)
    if what == "code objects" and (is_of_notebook or event == "object.__setattr__"):
        _functions_set.append(None)


def _author(frame: FrameType | None, middleman: str) -> str:
    """The file of the code on whose behalf it happened."""
    while frame is not None and frame.f_code.co_filename.endswith(middleman):
        frame = frame.f_back
    return "" if frame is None else frame.f_code.co_filename
