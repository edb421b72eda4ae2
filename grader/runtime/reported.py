"""Reports the use of functions that give frames, namespaces or garbage and raise no audit event.

``globals()`` gives the namespace of the code that runs. A callable of C can be called while our code runs:
by a weak reference, say, whose object dies there. A signal handler and torch's frame evaluation are given
frames. The collector can keep garbage, in which the functions of earlier requests lie. So the zygote replaces
these functions by callables that report their caller. What it replaces is never made a second time: Python
would give a new copy of a built-in module.
"""

from __future__ import annotations

import _imp
import _signal  # type: ignore[import-not-found]
import builtins
import gc
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from . import audit
from .opaque import opaque
from .originals import (
    DEBUG_SAVEALL,
    builtins_copy,
    create_builtin_module,
    names_of,
    set_collector_debug,
    set_frame_evaluation,
    set_signal_handler,
    vars_of,
)

__builtins__ = builtins_copy()

_present: dict[str, Any] = {}  # built-in modules that exist


def replace() -> None:
    """In the zygote, before any student's code: replace these functions."""
    _present.update((name, sys.modules[name]) for name in sys.builtin_module_names if name in sys.modules)
    namespaces: tuple[Callable[..., Any], ...] = (_globals, _locals, _vars_of, _dir_of)
    for name, function in zip(("globals", "locals", "vars", "dir"), namespaces, strict=True):
        audit.let_pass(function.__code__)
        vars(builtins)[name] = opaque(function)
    vars(_signal)["signal"] = opaque(_signal_handled)
    vars(gc)["set_debug"] = opaque(_debug_set)
    vars(_imp)["create_builtin"] = opaque(_builtin_created)
    vars(torch._C._dynamo.eval_frame)["set_eval_frame"] = opaque(_frame_evaluation_set)


def _globals() -> Any:
    frame = audit.frame_that_asks("globals")
    return {} if frame is None else frame.f_globals


def _locals() -> Any:
    return _read_locals("locals")


def _vars_of(*things: Any) -> Any:
    return vars_of(*things) if things else _read_locals("vars")


def _dir_of(*things: Any) -> Any:
    return names_of(*things) if things else sorted(_read_locals("dir"))


def _read_locals(name: str) -> Any:
    frame = audit.frame_that_asks(name, above=2)
    if frame is None:
        return {}
    found = frame.f_locals
    return dict(found) if type(found) is audit.LOCALS_OF_A_FUNCTION else found


def _signal_handled(number: Any, handler: Any) -> Any:
    if callable(handler):
        audit.notice_author("signals")
    return set_signal_handler(number, handler)


def _debug_set(flags: Any) -> None:
    number = int(flags)
    if number & DEBUG_SAVEALL:
        audit.notice_author("gc")
    set_collector_debug(number)


def _frame_evaluation_set(callback: Any) -> Any:
    if callable(callback):
        audit.notice_author("modes of torch")
    return set_frame_evaluation(callback)


def _builtin_created(spec: Any) -> Any:
    name = spec.name
    if type(name) is not str:
        raise TypeError("the name of a module must be a str")
    if name in _present:
        audit.notice_author("imports at run time")
        return _present[name]
    return create_builtin_module(SimpleNamespace(name=name))  # type: ignore[arg-type]
