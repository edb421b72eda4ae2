"""Notices actions that only cheating needs, and reports each before it can be undone.

Python raises audit events for it (PEP 578). Libraries ask for frames too, and some hand them on
(``traceback.walk_stack``, ``bdb``, ``torch._jit_internal``). So frames, tracing, the collector's objects and
ctypes are laid to the first line of the notebook above the event, past the files of libraries, unless one of
these is known to keep what it asks for, and is what it was before the notebook began. Code that does not
name what happened did not ask for it: it called something that the notebook gave it. A notice is a reason for
a human to look, never a verdict.

The listener raises no event of its own, and switches nothing off while it works: a signal handler or the
collector may run code of the notebook at any moment.
"""

from __future__ import annotations

import asyncio.coroutines
import builtins
import collections
import ctypes
import enum
import gc
import linecache
import logging
import os
import sys
import traceback
import typing
from collections.abc import Iterable
from contextlib import suppress
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

from .names import cell_of
from .opaque import sealed
from .originals import builtins_copy, identity, is_anomaly_enabled, write_descriptor

__builtins__ = builtins_copy()

_MOST_CELLS = 20  # noticed of each kind: a flood of one kind leaves room for the others
#: The kind of trace of each event, in the words of ``grader/grading/flags.py``.
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
#: Compiled modules that give memory by its address, or frames; besides Python's own, whose events say more.
_RAW = {"_cffi_backend", "_greenlet", "_testcapi", "_testinternalcapi", "_testlimitedcapi"}
_PARTS = ("__code__", "__defaults__", "__kwdefaults__")  # of a function, which can be exchanged
_ATTRIBUTES = {
    **dict.fromkeys(_PARTS, "code objects"),
    **dict.fromkeys(("tb_frame", "gi_frame", "cr_frame", "ag_frame"), "frames"),
    **dict.fromkeys(("__class__", "__bases__"), "past the instance"),
}
#: Kinds of traces that libraries cause only for a notebook; others they also cause by themselves.
_ON_BEHALF = {"frames", "gc", "settrace"}
#: The functions that raise the events of these kinds, whatever name a module gives them.
_ASKED = {
    event: vars(sys.modules[module])[name]
    for event, what in _EVENTS.items()
    for module, _, name in [event.rpartition(".")]
    if what in _ON_BEHALF and module in ("sys", "gc")
}
#: Parts of files' names, and the functions in there (none: all) that hand on nothing of what they ask for.
_INNOCENT = {
    "<frozen importlib._bootstrap>": (),
    "<frozen importlib._bootstrap_external>": ("exec_module", "source_to_code"),
    "/asyncio/coroutines.py": (),
    "/collections/__init__.py": ("namedtuple",),
    "/doctest.py": ("run",),
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
#: Modules among these, and what they use, that are compared before they count as innocent.
_COMPARED = (traceback, linecache, logging, typing, enum, collections, asyncio.coroutines)
#: Of the files above those of these modules: no other file of such a name counts.
_ENDS = {
    part for part in _INNOCENT if part[0] == "/" and any(str(m.__file__).endswith(part) for m in _COMPARED)
}
_ALWAYS = (builtins, traceback, linecache)  # which others use to show frames
_SETTINGS = {"_loggerClass", "_logRecordFactory", "_warnings_showwarning"}  # that functions of these may set

# CPython's own way to the running frame, which raises no event.
_running: Any = ctypes.pythonapi.PyThreadState_Get
_frame_in: Any = ctypes.pythonapi.PyThreadState_GetFrame
_running.restype, _running.argtypes = ctypes.c_void_p, []
_frame_in.restype, _frame_in.argtypes = ctypes.py_object, [ctypes.c_void_p]


def _own_locals() -> Any:
    return _frame_in(_running()).f_locals


#: A view of the variables, which Python gives since 3.13; before, it gave a dict.
LOCALS_OF_A_FUNCTION = None if (_kind_of_locals := type(_own_locals())) is dict else _kind_of_locals

_notices: list[int] = []  # the descriptor that takes notices; none on a student's own machine
_noticed: dict[str, set[int | None]] = {}  # cells, by what was noticed in them
_own: set[int] = set()  # the namespaces of our modules
_words: list[dict[str, Any]] = []  # those of the present request
_originals: dict[int, _Original] = {}  # by the modules' namespaces
_passing: set[int] = set()  # code of ours that calls what a notebook gives it
_executed: list[CodeType | None] = [None]  # code that ours executes next
_exchanged: list[tuple[FunctionType, str, Any, str]] = []  # parts of functions, and what these are called
_classes: list[str] = []  # the names of networks whose class was exchanged
_MAKERS = {f"{__package__}.kinds", "inside"}  # modules whose objects are arguments of students' functions


class _Original(NamedTuple):
    """A module before the notebook began: its namespace, the names there, and its callables."""

    names: dict[str, Any]
    were: set[str]
    acting: list[tuple[dict[str, Any], str, Any]]


def begin(notices: int) -> None:
    """Watch this process until it ends, and write each notice to this descriptor."""
    _notices.append(notices)
    _own.update(identity(vars(module)) for name, module in sys.modules.items() if name.startswith("grader."))
    sys.addaudithook(_listen)


def begin_request(words: dict[str, Any]) -> None:
    """Count code with these globals as ours, until the next request."""
    _words[:] = [words]


def keep_libraries() -> None:
    """In the zygote: record the content of innocent libraries."""
    for module in {*_COMPARED, *_ALWAYS}:
        kinds = [] if module is builtins else [v for v in vars(module).values() if isinstance(v, type)]
        own = [kind for kind in kinds if kind.__module__ == module.__name__]
        places = [vars(module), *(gc.get_referents(vars(kind))[0] for kind in own)]
        acting = [(p, n, v) for p in places for n, v in p.items() if callable(v) and n not in _SETTINGS]
        _originals[identity(vars(module))] = _Original(vars(module), _SETTINGS.union(vars(module)), acting)


def let_pass(code: CodeType) -> None:
    """Look past this code of ours for the code that asked for something."""
    _passing.add(identity(code))


def expect(code: CodeType) -> None:
    """Let our code execute this code; any other that is executed there is the notebook's."""
    _executed[0] = code


def frame_that_asks(name: str, above: int = 1) -> FrameType | None:
    """The frame in which a function of this name was called; None if it is ours.

    A callable of C that runs in the frame of other code is noticed.

    Args:
        above: how many of our frames lie above.
    """
    frame: FrameType | None = _frame_in(_running()).f_back
    for _ in range(above):
        frame = frame and frame.f_back
    if frame is not None and not _is_ours(frame.f_globals):
        code, function = frame.f_code, vars(builtins).get(name)
        names = (*code.co_names, *code.co_varnames, *code.co_freevars)
        if name in names or any(frame.f_globals.get(n) is function for n in code.co_names):
            return frame
    notice("frames", _author(frame, on_behalf=True, is_hidden=True) or "")
    return None if frame is None or _is_ours(frame.f_globals) else frame


def notice_author(what: str) -> None:
    """Report an action of our function's caller, for the cell whose code is nearest."""
    frame = _frame_in(_running()).f_back
    notice(what, _author(frame and frame.f_back, on_behalf=True, is_hidden=True) or "")


def notice(what: str, file: str) -> None:
    """Report an event in a cell, by the name of its file."""
    cell = cell_of(file)
    cells = _noticed.setdefault(what, set())
    if cell not in cells and len(cells) < _MOST_CELLS:
        for descriptor in _notices:
            with suppress(OSError):  # the pipe was filled or closed, which the outside sees
                write_descriptor(descriptor, f"{what}\t{'' if cell is None else cell}\n".encode())
        cells.add(cell)  # only now: an error on the way, of the recursion limit, must not pass for a notice


@sealed
class WatchedModule(ModuleType):
    """A module that reports when code of the notebook sets or deletes an attribute, restored or not."""

    def __setattr__(self, name: str, value: Any) -> None:
        _report_patch(_frame_in(_running()).f_back)
        ModuleType.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _report_patch(_frame_in(_running()).f_back)
        ModuleType.__delattr__(self, name)


WatchedModule.__name__ = WatchedModule.__qualname__ = ModuleType.__name__  # for those who print a type


def watch_modules(modules: Iterable[ModuleType]) -> None:
    """In the zygote: from now on, report cells that replace attributes of these modules."""
    for module in modules:
        module.__class__ = WatchedModule


def _report_patch(frame: FrameType | None) -> None:
    file = _author(frame, on_behalf=False)
    if file is not None:
        notice("patched", file)


def put_back_functions() -> list[str]:
    """Give functions of libraries and of check files the parts again that a notebook exchanged.

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
    if event == "builtins.id":  # torch asks for it some thousand times in a request
        return
    what, on_behalf = _kind(event, arguments)
    if what is None:
        return
    frame = _frame_in(_running()).f_back
    is_followed = what in _ON_BEHALF
    if event == "exec":  # by a callable of C, while our code runs
        is_hidden = frame is not None and _is_ours(frame.f_globals) and arguments[0] is not _executed[0]
    elif event == "import":
        is_hidden = True
    else:
        is_hidden = is_followed and frame is not None and not _names(frame, event, arguments)
    file = _author(frame, on_behalf=on_behalf, is_hidden=is_hidden, is_followed=is_followed)
    if file is None:
        return
    notice(what, file)
    if event == "object.__setattr__" and arguments[1] == "__class__":
        kind = type(arguments[0])
        _classes.extend([f"the class of a {kind.__qualname__}"] * (kind.__module__ in _MAKERS))
    elif event == "object.__setattr__" and what == "code objects":
        function, part = arguments[:2]
        code = function.__code__
        if not _is_of_notebook(code) or _is_ours(function.__globals__):
            # The event comes before the exchange, so this is still the part that the function had.
            _exchanged.append((function, part, getattr(function, part), f"{code.co_qualname}.{part}"))


def _kind(event: str, arguments: tuple[Any, ...]) -> tuple[str | None, bool]:
    """The kind of trace that an event is, or None, and whether a library may have caused it."""
    if event == "object.__setattr__":
        return _ATTRIBUTES.get(arguments[1]), True
    if event in ("open", "os.listdir", "os.scandir"):
        if type(arguments[0]) is int:
            return "raw descriptors", False
        return ("raw descriptors" if _path(arguments[0]).startswith(("/proc", "/dev/fd")) else None), True
    is_raw = event == "import" and _path(arguments[0]).rpartition(".")[2] in _RAW
    if is_raw or event.startswith("ctypes."):
        return "ctypes", True
    if event in ("exec", "compile"):
        file = arguments[0].co_filename if event == "exec" else arguments[1]
        return _EVENTS[event], _is_of_library(_path(file))
    what = _ATTRIBUTES.get(arguments[1]) if event == "object.__getattr__" else _EVENTS.get(event)
    return what, what in _ON_BEHALF


def _path(value: Any) -> str:
    """A path that is a text or bytes; their classes may be the notebook's."""
    if isinstance(value, str):
        return str.__str__(value)
    return os.fsdecode(bytes.__getitem__(value, slice(None))) if isinstance(value, bytes) else ""


def _names(frame: FrameType, event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether running code names what happened; else a callable of C did it that code was given."""
    code, asked = frame.f_code, _ASKED.get(event)
    name = arguments[1] if asked is None and arguments[1:] else event.rpartition(".")[2]
    if name in code.co_names or name in code.co_varnames or name in code.co_freevars:
        return True
    return asked is not None and any(frame.f_globals.get(n) is asked for n in code.co_names)


def _author(
    frame: FrameType | None, *, on_behalf: bool, is_hidden: bool = False, is_followed: bool = False
) -> str | None:
    """The file of the notebook's code that did it, or let a library do it; None if none did.

    Args:
        frame: the code that runs.
        on_behalf: whether a library may have done it for the notebook.
        is_hidden: whether the code that runs did not do it itself. Then the notebook did, whatever runs.
        is_followed: whether an innocent library has to have called what asked.
    """
    first = frame and frame.f_code
    waiting: list[CodeType] = []  # code of libraries that nothing above names
    while frame is not None:
        code = frame.f_code
        if _is_ours(frame.f_globals):
            if not is_hidden and identity(code) not in _passing:
                return None
        elif _is_of_notebook(code):
            return code.co_filename
        elif not is_hidden:
            is_first = code is first
            waiting = [below for below in waiting if not _calls(code, below)]
            if not on_behalf or (
                not waiting and _is_innocent(frame, is_first=is_first) and _are_intact(frame)
            ):
                return None
            is_imported = code.co_name == "<module>"  # a library, which does much of its own accord
            waiting = [*waiting, code] if is_followed and not is_imported else []
        frame = frame.f_back
    return "" if on_behalf or is_hidden else None  # a thread that a library began, or a callable of C


def _is_ours(names: dict[str, Any]) -> bool:
    """Whether code with these globals is the worker's or the check file's; any code can claim a file name."""
    return identity(names) in _own or any(names is words for words in _words)


def _is_of_notebook(code: CodeType) -> bool:
    """Whether it is code of a cell, or of a text that was executed."""
    return not _is_of_library(code.co_filename)


def _is_of_library(file: str) -> bool:
    return file[:1] != "<" or file.startswith(("<frozen ", "<__array_function__"))


def _is_innocent(frame: FrameType, *, is_first: bool) -> bool:
    """Whether running code hands on nothing of what it, or code that it calls, asked for."""
    code, file = frame.f_code, frame.f_code.co_filename
    if is_first and code.co_name == "_call_with_frames_removed":
        return False  # its caller executes a module, or anybody a text
    if code.co_name == "format_stack" and "packages/torch/fx/" in file and is_anomaly_enabled():
        return True  # torch's C++ asks for it at every operation
    is_compared = identity(frame.f_globals) in _originals
    return any(
        part in file and (is_compared or part not in _ENDS) and (not functions or code.co_name in functions)
        for part, functions in _INNOCENT.items()
    )


def _calls(code: CodeType, below: CodeType) -> bool:
    """Whether code names other code, or its class, or is of the same class; all may call what has no name."""
    owner = code.co_qualname.rpartition(".")[0]
    is_of_class = bool(owner) and below.co_qualname.startswith(f"{owner}.")
    return (
        below.co_name[:1] == "<"
        or (is_of_class and code.co_filename == below.co_filename)
        or any(part in code.co_names for part in below.co_qualname.split("."))
    )


def _are_intact(frame: FrameType) -> bool:
    """Whether the module of running code, and those that show frames, are unchanged."""
    own = _originals.get(identity(frame.f_globals))
    used = [_originals[identity(vars(module))] for module in _ALWAYS]
    return all(map(_is_intact, used if own is None else [own, *used]))


def _is_intact(original: _Original) -> bool:
    """Whether the callables of a module and its classes are unchanged, and no new name shadows one."""
    if not all(place.get(name) is value for place, name, value in original.acting):
        return False
    now = original.names.copy().items()  # other threads may go on writing
    return not any(callable(v) and (type(n) is not str or n not in original.were) for n, v in now)
