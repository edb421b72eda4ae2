"""Inside: what became of the tensors that a node of the autograd graph saved for its backward.

torch's C++ is asked through what was captured before any student's code; nobody's hook is run.
"""

from __future__ import annotations

import builtins
import re
from typing import Any

import torch

from . import facts

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_base = torch._C.TensorBase
_version, _is_inference = _base.__dict__["_version"].__get__, _base.is_inference
_PythonNode = torch._C._FunctionBase
_raw_of_python = _PythonNode.__dict__["_raw_saved_tensors"].__get__
_saved_by_python = _PythonNode.__dict__["saved_tensors"].__get__
_hook_of = torch._C._autograd.SavedTensor.__dict__["unpack_hook"].fget
_data_of = torch._C._autograd.SavedTensor.__dict__["data"].fget
_class_dict = type.__dict__["__dict__"].__get__
_search = re.compile(r"at version (\d+); expected version (\d+)").search
_type, _issubclass = type, issubclass
_FREED, _DETACHED = "backward through the graph a second time", "detached in-place"
_SAVED, _RAW = "_saved_", "_raw_saved_"

#: A saved tensor: its name, its state, its version when it was saved and now, and itself if it can be read.
State = tuple[str, str, int | None, int | None, Any]


def states(node: Any) -> list[State]:
    """The saved tensors of a node, each with what became of it; scalars and None are none."""
    kind = _type(node)
    if _issubclass(kind, _PythonNode):
        return _state("saved", node, _raw_of_python, _saved_by_python)
    names = [name.removeprefix(_RAW) for name in _class_dict(kind) if name.startswith(_RAW)]
    found: list[State] = []
    for name in names:
        found += _state(name, node, getter(kind, _RAW + name), getter(kind, _SAVED + name))
    return found


def _state(name: str, node: Any, read_raw: Any, read: Any) -> list[State]:
    """One saved tensor, or several that torch holds under one name."""
    raw: tuple[Any, ...] = ()
    try:
        given = read_raw(node)
        raw = given if _type(given) is tuple else (given,)
        if any(_hook_of(one) is not None for one in raw if one is not None):
            return [(name, "packed", None, None, None)]  # to read it would run the hook, which is a student's
        values = read(node)
    except RuntimeError as error:
        state, saved, now = _why(facts.error_text(error))
        holds = state == "stale" and len(raw) == 1
        return [(name, state, saved, now, _data_of(raw[0]) if holds else None)]
    several = _type(values) is tuple or _type(values) is list
    return [
        (f"{name}[{place}]" if several else name, "current", *_versions(value), value)
        for place, value in enumerate(values if several else (values,))
        if facts.is_tensor(value)
    ]


def _versions(tensor: Any) -> tuple[int | None, int | None]:
    now = None if _is_inference(tensor) else _version(tensor)
    return now, now


def _why(text: str) -> tuple[str, int | None, int | None]:
    """Why a saved tensor cannot be read, from torch's own text, and its versions."""
    versions = _search(text)
    if versions is not None:
        return "stale", int(versions[2]), int(versions[1])
    if _FREED in text:
        return "freed", None, None
    return ("detached" if _DETACHED in text else "unreadable"), None, None


def getter(kind: type, name: str) -> Any:
    """A descriptor of a node's class, which is C++'s own and cannot be written to."""
    return _class_dict(kind)[name].__get__
