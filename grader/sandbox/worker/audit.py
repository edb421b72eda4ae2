"""Notices what only cheating needs, however it is spelt, and reports it before it can be taken back.

Python raises audit events for it (PEP 578). Libraries ask for frames too, and some hand them on
(``traceback.walk_stack``, ``bdb``, ``torch._jit_internal``). So frames, tracing, the collector's objects and
ctypes are laid to the first line of the notebook above the event, past the files of libraries, unless one of
these is known to keep what it asks for. A notice is a reason for a human to look, never a verdict.
"""

from __future__ import annotations

import builtins
import os
import sys
from _thread import get_ident
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import torch

from . import NOTICES
from .names import cell_of
from .opaque import sealed

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
    "cpython.PyInterpreterState_New": "another interpreter",
    **dict.fromkeys(("os.kill", "os.killpg", "signal.pthread_kill"), "leaving the process"),
    **dict.fromkeys(("os.fork", "os.forkpty", "os.exec", "os.posix_spawn"), "leaving the process"),
}
_PARTS = ("__code__", "__defaults__", "__kwdefaults__")  # of a function, which can be exchanged
_ATTRIBUTES = {
    **dict.fromkeys(_PARTS, "code objects"),
    **dict.fromkeys(("tb_frame", "gi_frame", "cr_frame", "ag_frame"), "frames"),
    **dict.fromkeys(("__class__", "__bases__"), "past the instance"),
}
#: What a library may do for a notebook. Of the rest libraries do much of their own accord.
_ON_BEHALF = {"frames", "gc", "settrace"}
#: Parts of files' names, and the functions in there (none: all) that hand on nothing of what they ask for.
_INNOCENT = {
    "<frozen importlib._bootstrap>": (),
    "/asyncio/coroutines.py": (),
    "/collections/__init__.py": ("namedtuple",),
    "/doctest.py": (),
    "/enum.py": (),
    "/logging/__init__.py": ("_log",),
    "/traceback.py": ("print_exception", "format_exception", "extract_tb", "from_exception"),
    "/typing.py": (),
    "/typing_extensions.py": (),
    "/unittest/result.py": (),
    "packages/matplotlib/": (),
    "packages/pandas/core/common.py": (),
    "packages/pandas/util/_exceptions.py": (),
    "packages/psutil/": (),
    "packages/torch/": ("_lazy_call",),
    "packages/torch/library.py": (),
    "packages/torch/nn/utils/parametrize.py": (),
}
_OURS = (f"{Path(__file__).parent}{os.sep}", "<probe>")

_frame_of, _write, _is_anomaly = sys._getframe, os.write, torch.is_anomaly_enabled
_set_attribute, _delete_attribute = ModuleType.__setattr__, ModuleType.__delattr__
_noticed: dict[str, set[int | None]] = {}  # cells, by what was noticed in them
_listening: set[int] = set()  # threads that do: what they look at is an event itself
_exchanged: list[tuple[FunctionType, str, Any, str]] = []  # parts of functions, and what these are called
_classes: list[str] = []  # what networks are called whose class was exchanged
_HANDING = {f"{__package__}.kinds", "probe"}  # modules that make what a student's function is given


def begin() -> None:
    """Watch this process until it ends."""
    sys.addaudithook(_listen)


def notice(what: str, file: str) -> None:
    """Report what was noticed in a cell, by the name of its file."""
    cell = cell_of(file)
    cells = _noticed.setdefault(what, set())
    if cell not in cells and len(cells) < _MOST_CELLS:
        cells.add(cell)
        with suppress(OSError):  # the pipe was filled or closed, which the outside sees
            _write(NOTICES, f"{what}\t{'' if cell is None else cell}\n".encode())


@sealed
class WatchedModule(ModuleType):
    """A module that reports when code of the notebook sets or deletes an attribute, restored or not."""

    def __setattr__(self, name: str, value: Any) -> None:
        _report_patch(_frame_of(1))
        _set_attribute(self, name, value)

    def __delattr__(self, name: str) -> None:
        _report_patch(_frame_of(1))
        _delete_attribute(self, name)


WatchedModule.__name__ = WatchedModule.__qualname__ = ModuleType.__name__  # for those who print a type


def watch_modules(modules: Iterable[ModuleType]) -> None:
    """In the zygote: report from now on which cells replace what these modules hold."""
    for module in modules:
        module.__class__ = WatchedModule


def _report_patch(frame: FrameType | None) -> None:
    file = _author(frame, on_behalf=False)
    if file is not None:
        notice("patched", file)


def put_back_functions() -> list[str]:
    """Give functions of libraries and of probes the parts again that a notebook exchanged.

    Returns:
        The names of these, and of the networks whose class was exchanged, though it may be put back.
    """
    names = [name for *_, name in _exchanged] + _classes
    _classes.clear()
    while _exchanged:
        function, part, value, _ = _exchanged.pop()
        setattr(function, part, value)
    return names


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "builtins.id":  # torch asks for it some thousand times in a probe
        return
    what, on_behalf = _kind(event, arguments)
    if what is None or get_ident() in _listening:
        return
    _listening.add(get_ident())
    try:
        file = _author(_frame_of(1), on_behalf=on_behalf)
        if file is not None:
            notice(what, file)
            if event == "object.__setattr__" and arguments[1] == "__class__":
                kind = type(arguments[0])
                _classes.extend([f"the class of a {kind.__qualname__}"] * (kind.__module__ in _HANDING))
            elif event == "object.__setattr__" and what == "code objects":
                function, part = arguments[:2]
                code = function.__code__
                if not _is_of_notebook(code):  # its part is kept before it is exchanged
                    _exchanged.append((function, part, getattr(function, part), f"{code.co_qualname}.{part}"))
    finally:
        _listening.discard(get_ident())


def _kind(event: str, arguments: tuple[Any, ...]) -> tuple[str | None, bool]:
    """What an event is a trace of, or None, and whether a library may have done it for the notebook."""
    if event == "object.__setattr__":
        return _ATTRIBUTES.get(arguments[1]), True
    if event in ("open", "os.listdir", "os.scandir"):
        if type(arguments[0]) is int:
            return "raw descriptors", False
        path = os.fsdecode(arguments[0]) if type(arguments[0]) in (str, bytes) else ""
        return ("raw descriptors" if path.startswith(("/proc", "/dev/fd")) else None), True
    if event.startswith("ctypes."):
        return "ctypes", True
    what = _ATTRIBUTES.get(arguments[1]) if event == "object.__getattr__" else _EVENTS.get(event)
    return what, what in _ON_BEHALF


def _author(frame: FrameType | None, *, on_behalf: bool) -> str | None:
    """The file of the notebook's code that did it, or let a library do it; None where none did."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_OURS):
            return None
        if _is_of_notebook(code):
            return code.co_filename
        if not on_behalf or _is_innocent(code):
            return None
        frame = frame.f_back
    return "" if on_behalf else None  # a thread that a library began


def _is_of_notebook(code: CodeType) -> bool:
    """Whether it is code of a cell, or of a text that was executed."""
    file = code.co_filename
    return file.startswith("<") and not file.startswith(("<frozen ", "<probe>", "<__array_function__"))


def _is_innocent(code: CodeType) -> bool:
    if code.co_name == "format_stack" and _is_anomaly():  # torch's C++ asks for it at every operation
        return True
    return any(
        part in code.co_filename and (not functions or code.co_name in functions)
        for part, functions in _INNOCENT.items()
    )
