"""Inside: the nodes of the autograd graph behind some tensors, and the leaves in which they end.

torch's C++ is asked through what was captured before any student's code, never a class of a student's: the
node of a ``torch.autograd.Function`` is an object whose attributes the student writes.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

import torch

from . import facts, saved_tensors

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_PythonNode = torch._C._FunctionBase
_next_of_python = _PythonNode.__dict__["next_functions"].__get__
_made_by = facts.made_by
_probing = torch.ones(1, requires_grad=True)
_AccumulateGrad = type(_made_by(_probing * _probing).next_functions[0][0])
_variable = _AccumulateGrad.__dict__["variable"].__get__
_type, _id, _issubclass = type, id, issubclass


class Walk:
    """The nearest nodes behind some tensors; holds all nodes, so that no id is used twice.

    Attributes:
        nodes: the nearest first.
        places: the place of each, by its id.
        after: the places of the nodes that a gradient travels to from each; None for one left out.
    """

    def __init__(self, tensors: list[Any], most: int = sys.maxsize) -> None:
        self.nodes: list[Any] = []
        self.places: dict[int, int] = {}
        self.after: list[list[int | None]] = []
        self._most = most
        for node in map(_made_by, tensors):
            if node is not None:
                self._meet(node)
        while len(self.after) < len(self.nodes):
            after = _next(self.nodes[len(self.after)])
            self.after.append([self._meet(node) for node, _ in after if node is not None])

    @property
    def is_cut(self) -> bool:
        """Whether there are more nodes than it took."""
        return any(place is None for after in self.after for place in after)

    def _meet(self, node: Any) -> int | None:
        """The place of a node, a new one for one that was not met before."""
        place = self.places.get(_id(node))
        if place is None and len(self.nodes) < self._most:
            place = self.places[_id(node)] = len(self.nodes)
            self.nodes.append(node)
        return place


def behind(tensor: Any) -> list[Any]:
    """All nodes behind a tensor; none behind what is no tensor.

    It records less than a ``Walk``, because a probe may ask after every call of a module.
    """
    first = _made_by(tensor) if facts.is_tensor(tensor) else None
    found = {} if first is None else {_id(first): first}
    waiting = list(found.values())
    while waiting:
        for node, _ in _next(waiting.pop()):
            if node is not None and _id(node) not in found:
                found[_id(node)] = node
                waiting.append(node)
    return list(found.values())


def leaf_of(node: Any) -> Any:
    """The leaf into whose ``.grad`` a node adds; None for an operation."""
    return _variable(node) if _type(node) is _AccumulateGrad else None


def register_prehook(node: Any, hook: Any) -> None:
    """Let a hook see the gradients that arrive at a node, as a tuple with one for each of its outputs."""
    kind = _PythonNode if _issubclass(_type(node), _PythonNode) else _type(node)
    saved_tensors.getter(kind, "register_prehook")(node)(hook)


_readers: dict[int, Any] = {}  # by the id of a class of torch's own, which is never freed


def _next(node: Any) -> Any:
    kind = _type(node)
    read = _readers.get(_id(kind))
    if read is None:
        if _issubclass(kind, _PythonNode):
            return _next_of_python(node)
        read = _readers[_id(kind)] = saved_tensors.getter(kind, "next_functions")
    return read(node)
