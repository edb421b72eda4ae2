"""The nodes of the autograd graph behind some tensors, and the leaves in which they end.

torch's C++ is asked through what was captured before any student's code: the node of a
``torch.autograd.Function`` is an object whose attributes the student writes.
"""

from __future__ import annotations

import builtins
import re
import sys
from typing import Any

import torch

from . import errors, torch_objects

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_PythonNode = torch._C._FunctionBase
_next_of_python = _PythonNode.__dict__["next_functions"].__get__
_made_by = torch_objects.made_by
_probing = torch.ones(1, requires_grad=True)
_AccumulateGrad = type(_made_by(_probing * _probing).next_functions[0][0])
_variable = _AccumulateGrad.__dict__["variable"].__get__
_type, _id, _issubclass = type, id, issubclass


class Walk:
    """The nodes behind some tensors, the nearest first; it holds them, so that no id is used twice.

    ``indices`` has the index of each by its id; ``after`` the indices of the nodes to which its gradient
    travels, None for a node that was left out.
    """

    def __init__(self, results: list[Any], most: int = sys.maxsize) -> None:
        self.nodes: list[Any] = []
        self.indices: dict[int, int] = {}
        self.after: list[list[int | None]] = []
        self._most = most
        for node in map(_made_by, results):
            if node is not None:
                self._meet(node)
        while len(self.after) < len(self.nodes):
            after = _next(self.nodes[len(self.after)])
            self.after.append([self._meet(node) for node, _ in after if node is not None])

    @property
    def is_cut(self) -> bool:
        """Whether there are more nodes than it took."""
        return any(index is None for after in self.after for index in after)

    def _meet(self, node: Any) -> int | None:
        """The index of a node, perhaps a new index; None where there are too many."""
        index = self.indices.get(_id(node))
        if index is None and len(self.nodes) < self._most:
            index = self.indices[_id(node)] = len(self.nodes)
            self.nodes.append(node)
        return index


def behind(tensor: Any) -> list[Any]:
    """All nodes behind a tensor; it records less than a ``Walk``, for ``spy`` asks it after every call."""
    first = _made_by(tensor) if torch_objects.is_tensor(tensor) else None
    reached = {} if first is None else {_id(first): first}
    waiting = list(reached.values())
    while waiting:
        for node, _ in _next(waiting.pop()):
            if node is not None and _id(node) not in reached:
                reached[_id(node)] = node
                waiting.append(node)
    return list(reached.values())


def leaf_of(node: Any) -> Any:
    """The leaf into whose ``.grad`` a node adds; None for an operation."""
    return _variable(node) if _type(node) is _AccumulateGrad else None


def register_prehook(node: Any, hook: Any) -> None:
    """Let a hook see the gradients that arrive at a node, a tuple with an entry for each of its outputs."""
    kind = _PythonNode if _issubclass(_type(node), _PythonNode) else _type(node)
    getter(kind, "register_prehook")(node)(hook)


_readers: dict[int, Any] = {}  # by the id of a class of torch's own, which is never freed


def _next(node: Any) -> Any:
    kind = _type(node)
    read = _readers.get(_id(kind))
    if read is None:
        if _issubclass(kind, _PythonNode):
            return _next_of_python(node)
        read = _readers[_id(kind)] = getter(kind, "next_functions")
    return read(node)


# What became of the tensors that a node saved for its backward. No hook is run.

_base = torch._C.TensorBase
_version, _is_inference = _base.__dict__["_version"].__get__, _base.is_inference
_raw_of_python = _PythonNode.__dict__["_raw_saved_tensors"].__get__
_saved_by_python = _PythonNode.__dict__["saved_tensors"].__get__
_hook_of = torch._C._autograd.SavedTensor.__dict__["unpack_hook"].fget
_data_of = torch._C._autograd.SavedTensor.__dict__["data"].fget
_class_dict = type.__dict__["__dict__"].__get__
_search = re.compile(r"at version (\d+); expected version (\d+)").search
_FREED, _DETACHED = "backward through the graph a second time", "detached in-place"
_SAVED, _RAW = "_saved_", "_raw_saved_"

#: A saved tensor: its name, its state, its version when it was saved and now, and itself if it can be read.
State = tuple[str, str, int | None, int | None, Any]


def states(node: Any) -> list[State]:
    """The saved tensors of a node, each with what became of it."""
    kind = _type(node)
    if _issubclass(kind, _PythonNode):
        return _state("saved", node, _raw_of_python, _saved_by_python)
    names = [name.removeprefix(_RAW) for name in _class_dict(kind) if name.startswith(_RAW)]
    readers = ((name, getter(kind, _RAW + name), getter(kind, _SAVED + name)) for name in names)
    return [state for name, read_raw, read in readers for state in _state(name, node, read_raw, read)]


def _state(name: str, node: Any, read_raw: Any, read: Any) -> list[State]:
    """A saved tensor, or several that torch holds under the same name."""
    raw: tuple[Any, ...] = ()
    try:
        given = read_raw(node)
        raw = given if _type(given) is tuple else (given,)
        if any(_hook_of(saved) is not None for saved in raw if saved is not None):
            return [(name, "packed", None, None, None)]  # to read it would run the hook, which is a student's
        values = read(node)
    except RuntimeError as error:
        state, saved, now = _why(errors.error_text(error))
        holds = state == "stale" and len(raw) == 1
        return [(name, state, saved, now, _data_of(raw[0]) if holds else None)]
    several = _type(values) is tuple or _type(values) is list
    return [
        (f"{name}[{index}]" if several else name, "current", *_versions(value), value)
        for index, value in enumerate(values if several else (values,))
        if torch_objects.is_tensor(value)
    ]


def _versions(tensor: Any) -> tuple[int | None, int | None]:
    now = None if _is_inference(tensor) else _version(tensor)
    return now, now


def _why(text: str) -> tuple[str, int | None, int | None]:
    """Why a saved tensor cannot be read, by torch's own text, and its versions."""
    versions = _search(text)
    if versions is not None:
        return "stale", int(versions[2]), int(versions[1])
    if _FREED in text:
        return "freed", None, None
    return ("detached" if _DETACHED in text else "unreadable"), None, None


def getter(kind: type, name: str) -> Any:
    """A descriptor of a node's class, which is C++'s own and cannot be written to."""
    return _class_dict(kind)[name].__get__
