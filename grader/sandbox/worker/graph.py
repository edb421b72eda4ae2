"""The word ``graph``, which gives the autograd graph of named tensors as plain data.

It asks torch's C++ through what was captured before any student's code, runs no backward and no hook, and
changes nothing. The form, whose lists are cut off so that the whole fits into an answer:

``tensors``  a dict for each named tensor: ``name``, ``shape`` ("3x2"), ``leaf``, ``requires_grad``,
             ``version`` (None for inference tensors), ``made_by`` (index in ``nodes``, or None), ``output``
             (which of the node's), ``storage`` (equal on the same memory), ``same`` (index of an earlier name
             of the same object, or None), ``grad`` (whether it has a gradient), ``retains``.
``nodes``    a dict for each, nearest first: ``op`` (class name), ``next`` (indices of the nodes to which the
             gradient travels; None for all that are left out), ``leaf`` (a leaf's sizes, None for an
             operation), ``named`` (index in ``tensors``, or None), ``grad``, ``saved``: ``[name, state,
             version when saved, version now, index of a named tensor on the same memory, or None]``.
``more``     whether nodes, arrows or tensors are missing.
``total``    how many nodes are behind the first tensor; 5,001 where there are more than 5,000.
``freed``, ``stale``  how many of these, up to the nearest 5,000, have saved tensors in this state.

A saved tensor is ``current``, ``freed`` (a backward used it up), ``stale`` (overwritten since), ``detached``
(in place since), ``packed`` (held by a hook, which is not called) or ``unreadable``. What is current and on
no named tensor's memory is left out.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch

from . import errors, nodes, torch_objects
from .nodes import Walk, leaf_of

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

MAX_TENSORS = 24
MAX_NODES = 40
MAX_NEXT = 8
MAX_SAVED = 4
_COUNTED = 5_000  # 60 ms
_MAX_NAME, _MAX_MODULES, _MAX_ITEMS = 60, 64, 8

_base = torch._C.TensorBase
_output, _version, _shape, _requires, _retains = (
    _base.__dict__[name].__get__
    for name in ("output_nr", "_version", "shape", "requires_grad", "retains_grad")
)
_is_inference = _base.is_inference
_type, _id = type, id


def graph(**named: Any) -> dict[str, Any]:
    """The autograd graph behind named tensors; what else a student returned is left out."""
    modules: set[int] = set()
    pairs = (pair for name, value in named.items() for pair in tensors_of(name, value, modules))
    some = [*islice(pairs, MAX_TENSORS + 1)]
    return _Graph(some[:MAX_TENSORS]).as_data(is_cut=len(some) > MAX_TENSORS)


def tensors_of(name: str, value: Any, modules: set[int]) -> Iterator[tuple[str, Any]]:
    """The tensors a named value stands for; a module's are read past its own methods, each module's once."""
    kind = _type(value)
    if torch_objects.is_tensor(value):
        yield name[:_MAX_NAME], value
    elif kind is list or kind is tuple:
        items = enumerate(value[:_MAX_ITEMS])
        yield from ((f"{name}[{n}]"[:_MAX_NAME], item) for n, item in items if torch_objects.is_tensor(item))
    elif torch_objects.is_module(value):
        yield from _of_module(name, value, modules)


def _of_module(name: str, module: Any, modules: set[int]) -> Iterator[tuple[str, Any]]:
    for prefix, part in torch_objects.modules_of(module, f"{name}."):
        if _id(part) not in modules and len(modules) < _MAX_MODULES:
            modules.add(_id(part))
            for key, parameter in torch_objects.members(part, "_parameters"):
                if torch_objects.is_tensor(parameter):
                    yield f"{prefix}{key}"[:_MAX_NAME], parameter


class _Graph:
    def __init__(self, named: list[tuple[str, Any]]) -> None:
        self._named = named
        self._names = {_id(tensor): index for index, (_, tensor) in reversed([*enumerate(named)])}
        self._storages: dict[Any, int] = {}
        self._groups = [self._group(tensor) for _, tensor in named]
        self._shown = Walk([tensor for _, tensor in named], MAX_NODES)

    def as_data(self, *, is_cut: bool) -> dict[str, Any]:
        """The graph in the form described above."""
        wide = any(len(after) > MAX_NEXT for after in self._shown.after)
        behind = Walk([tensor for _, tensor in self._named[:1]], _COUNTED)
        states = [{state for _, state, *_ in nodes.states(node)} for node in behind.nodes]
        return {
            "tensors": [self._tensor(index) for index in range(len(self._named))],
            "nodes": [self._node(index, node) for index, node in enumerate(self._shown.nodes)],
            "more": is_cut or wide or self._shown.is_cut,
            "total": len(behind.nodes) + behind.is_cut,
            "freed": sum("freed" in of_node for of_node in states),
            "stale": sum(not of_node.isdisjoint(("stale", "detached")) for of_node in states),
        }

    def _group(self, tensor: Any) -> int:
        """A number for a tensor's storage; what has none of its own is alone."""
        return self._storages.setdefault(_memory_of(tensor), len(self._storages))

    def _tensor(self, index: int) -> dict[str, Any]:
        name, tensor = self._named[index]
        first = self._names[_id(tensor)]
        return {
            "name": name,
            "shape": _sizes(tensor),
            "leaf": torch_objects.is_leaf(tensor),
            "requires_grad": _requires(tensor),
            "version": None if _is_inference(tensor) else _version(tensor),
            "made_by": self._shown.indices.get(_id(torch_objects.made_by(tensor))),
            "output": _output(tensor),
            "storage": self._groups[index],
            "same": None if first == index else first,
            "grad": torch_objects.read_grad(tensor) is not None,
            "retains": _retains(tensor),
        }

    def _node(self, index: int, node: Any) -> dict[str, Any]:
        entry = {
            "op": errors.class_name(_type(node)),
            "next": _few(self._shown.after[index]),
            "leaf": None,
            "named": None,
            "grad": False,
            "saved": [*islice(self._remarkable(nodes.states(node)), MAX_SAVED)],
        }
        leaf = leaf_of(node)
        if torch_objects.is_tensor(leaf):
            named = self._names.get(_id(leaf))
            entry.update(leaf=_sizes(leaf), named=named, grad=torch_objects.read_grad(leaf) is not None)
        return entry

    def _remarkable(self, states: list[nodes.State]) -> Iterator[list[Any]]:
        """Saved tensors that are not as usual."""
        for name, state, then, now, tensor in states:
            partner = self._partner(state, tensor)
            if state != "current" or partner is not None:
                yield [name, state, then, now, partner]

    def _partner(self, state: str, saved: Any) -> int | None:
        """The named tensor on a saved tensor's memory: a constant, or what may have overwritten it."""
        if saved is None or (state == "current" and _requires(saved)):
            return None
        group = self._storages.get(_memory_of(saved))
        indices = [index for index, its in enumerate(self._groups) if its == group]
        constants = [index for index in indices if not _requires(self._named[index][1])]
        return next(iter(constants if state == "current" else constants + indices), None)


def _few(indices: list[int | None]) -> list[int | None]:
    """The first indices; None stands for all that are left out."""
    return indices if len(indices) <= MAX_NEXT else [*indices[: MAX_NEXT - 1], None]


def _memory_of(tensor: Any) -> int:
    return torch_objects.memory_key(tensor, torch_objects.storage_of(tensor))


def _sizes(tensor: Any) -> str:
    return "x".join(map(str, _shape(tensor)[:_MAX_ITEMS])) or "scalar"
