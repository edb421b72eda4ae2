"""Inside: notices, by Python's own audit events, what only deceivers need, however it is spelt.

The text of a cell shows ``sys._getframe``, but not ``getattr(sys, "_get" + "frame")``. Python raises an event
for both (PEP 578; the library's table of audit events). A trace is a reason to look, never a verdict.
"""

from __future__ import annotations

import builtins
import sys
from types import FrameType
from typing import Any

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_MOST_TRACES = 50
#: What each event is a trace of, in the words of ``grader/flags.py``.
_EVENTS = {
    "sys._getframe": "frames",
    "sys._current_frames": "frames",
    "sys._current_exceptions": "frames",
    "gc.get_objects": "gc",
    "gc.get_referrers": "gc",
    "gc.get_referents": "gc",
    "sys.settrace": "settrace",
    "sys.setprofile": "settrace",
    "sys.addaudithook": "settrace",
    "code.__new__": "code objects",
    "function.__new__": "code objects",
    "exec": "imports at run time",
    "compile": "imports at run time",
}
_ATTRIBUTES = {"__code__": "code objects", "tb_frame": "frames", "f_code": "frames", "gi_code": "frames"}
#: Python files that do it for whoever called them.
_MIDDLEMEN = ("/inspect.py", "/ctypes/__init__.py")

_frame_of = sys._getframe
_traces: dict[tuple[str, int | None], None] = {}
_is_looking = False
_code_was_set = False


def begin() -> None:
    """Watch this process from now on; there is no end to it."""
    sys.addaudithook(_notice)


def code_was_set() -> bool:
    """Whether some function's code was ever exchanged: to compare a thousand of them costs a millisecond."""
    return _code_was_set


def traces() -> list[list[Any]]:
    """What was noticed up to now: ``[what, number of the cell or None]`` each."""
    return [list(trace) for trace in _traces]


def _notice(event: str, arguments: tuple[Any, ...]) -> None:
    global _is_looking, _code_was_set
    what = _EVENTS.get(event) or ("ctypes" if event.startswith("ctypes.") else None)
    if event in ("object.__getattr__", "object.__setattr__"):
        what = _ATTRIBUTES.get(arguments[1])
        _code_was_set |= event == "object.__setattr__" and arguments[1] == "__code__"
    if what is None or _is_looking or len(_traces) >= _MOST_TRACES:
        return
    _is_looking = True  # looking at frames is an event itself
    try:
        file = _author(_frame_of(1))
        if file.startswith("<cell ") or file == "<string>":
            _traces[what, _cell_number(file)] = None
    finally:
        _is_looking = False


def _author(frame: FrameType | None) -> str:
    """The file of the code on whose behalf it happened."""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.endswith(_MIDDLEMEN):
            return file
        frame = frame.f_back
    return ""


def _cell_number(file: str) -> int | None:
    digits = file.removeprefix("<cell ").rstrip(">").partition(",")[0]
    return int(digits) if digits.isdecimal() and len(digits) < 6 else None
