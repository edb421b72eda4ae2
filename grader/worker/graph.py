"""Inside: the word ``graph``, which tells the autograd graph of named tensors as plain data.

It asks torch's C++ through what was captured before any student's code, runs no backward and no hook,
changes nothing, and is silent. The form, whose lists are cut off so that the whole fits into an answer:

``tensors``  one dict a named tensor: ``name``, ``shape`` ("3x2"), ``leaf``, ``requires_grad``, ``version``
             (None for inference tensors), ``made_by`` (a place in ``nodes``, or None), ``output`` (which of
             the node's), ``storage`` (equal on the same memory), ``same`` (place of an earlier name of the
             same object, or None), ``grad`` (whether there is one), ``retains``.
``nodes``    nearest first, one dict each: ``op`` (class name), ``next`` (places the gradient travels to),
             ``leaf`` (a leaf's sizes, None for an operation), ``named`` (its place in ``tensors``, or None),
             ``grad``, ``saved``: ``[name, state, version when saved, version now, place of a named
             tensor on the same memory, or None]``.
``more``     whether nodes, arrows or tensors are missing.
``total``    how many nodes there are, counted up to 5,000.
``freed``, ``stale``  how many of the nearest 500 have saved tensors in this state.

A saved tensor is ``current``, ``freed`` (a backward used it up), ``stale`` (overwritten since), ``detached``
(in place since), ``packed`` (held by a hook, which is not called) or ``unreadable``. One that is current and
on no named tensor's memory is left out.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch

from . import facts

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

MAX_TENSORS = 24
MAX_NODES = 40
MAX_NEXT = 8
MAX_SAVED = 4
_EXAMINED, _COUNTED = 500, 5_000
_MAX_NAME, _MAX_MODULES, _MAX_ITEMS = 60, 64, 8

_base = torch._C.TensorBase
_grad_fn, _output, _version, _shape, _leaf, _requires, _retains = (
    _base.__dict__[name].__get__
    for name in ("grad_fn", "output_nr", "_version", "shape", "is_leaf", "requires_grad", "retains_grad")
)
_is_inference = _base.is_inference
_PythonNode = torch._C._FunctionBase
_next_of_python = _PythonNode.__dict__["next_functions"].__get__
_raw_of_python = _PythonNode.__dict__["_raw_saved_tensors"].__get__
_saved_by_python = _PythonNode.__dict__["saved_tensors"].__get__
_probing = torch.ones(1, requires_grad=True)
_AccumulateGrad = type(_grad_fn(_probing * _probing).next_functions[0][0])
_variable = _AccumulateGrad.__dict__["variable"].__get__
_hook_of = torch._C._autograd.SavedTensor.__dict__["unpack_hook"].fget
_data_of = torch._C._autograd.SavedTensor.__dict__["data"].fget
_class_dict = type.__dict__["__dict__"].__get__
_Module, _attributes = torch.nn.Module, torch.nn.Module.__dict__["__dict__"].__get__
_search = re.compile(r"at version (\d+); expected version (\d+)").search
_cdata = torch._C.StorageBase.__dict__["_cdata"].__get__
_type, _id, _issubclass = type, id, issubclass
_FREED, _DETACHED = "backward through the graph a second time", "detached in-place"
_SAVED, _RAW = "_saved_", "_raw_saved_"


def graph(**named: Any) -> dict[str, Any]:
    """The autograd graph behind named tensors, as plain data that ``grader.picture`` draws.

    Args:
        named: tensors; a module stands for its parameters (``cell.weight_hh``), a list or a tuple for its
            items (``state[0]``). Whatever else a student returned is left out.
    """
    modules: set[int] = set()
    every = (found for name, value in named.items() for found in _tensors(name, value, modules))
    found = [*islice(every, MAX_TENSORS + 1)]
    return _Walk(found[:MAX_TENSORS]).told(cut=len(found) > MAX_TENSORS)


def _tensors(name: str, value: Any, modules: set[int]) -> Iterator[tuple[str, Any]]:
    """The tensors a named value stands for; a module's are read past its own methods, each module's once."""
    kind = _type(value)
    if facts.is_tensor(value):
        yield name[:_MAX_NAME], value
    elif kind is list or kind is tuple:
        tensors = [(place, item) for place, item in enumerate(value[:_MAX_ITEMS]) if facts.is_tensor(item)]
        yield from ((f"{name}[{place}]"[:_MAX_NAME], tensor) for place, tensor in tensors)
    elif _issubclass(kind, _Module) and _id(value) not in modules and len(modules) < _MAX_MODULES:
        modules.add(_id(value))
        held = _attributes(value)
        for part in ("_parameters", "_modules"):
            members = held.get(part)
            for key, member in members.items() if _type(members) is dict else ():
                if _type(key) is str:
                    yield from _tensors(f"{name}.{key}"[:_MAX_NAME], member, modules)


class _Walk:
    """One walk over the graph of some named tensors; holds all nodes, so that no id is used twice."""

    def __init__(self, named: list[tuple[str, Any]]) -> None:
        self._named = named
        self._names = {_id(tensor): place for place, (_, tensor) in reversed([*enumerate(named)])}
        self._storages: dict[Any, int] = {}
        self._groups = [self._group(tensor) for _, tensor in named]
        self._nodes: list[Any] = []
        self._places: dict[int, int] = {}
        for _, tensor in named:
            self._meet(_grad_fn(tensor))
        self._after: list[list[int]] = []
        while len(self._after) < len(self._nodes):
            after = [self._meet(node) for node, _ in _next(self._nodes[len(self._after)])]
            self._after.append([place for place in after if place is not None])

    def told(self, *, cut: bool) -> dict[str, Any]:
        """The walk as plain data."""
        nodes = self._nodes[:MAX_NODES]
        states = [_states(node) for node in self._nodes[:_EXAMINED]]
        wide = any(len(after) > MAX_NEXT for after in self._after[:MAX_NODES])
        return {
            "tensors": [self._tensor(place) for place in range(len(self._named))],
            "nodes": [self._node(place, node, states[place]) for place, node in enumerate(nodes)],
            "more": cut or wide or len(self._nodes) > MAX_NODES,
            "total": len(self._nodes),
            "freed": sum(any(s[1] == "freed" for s in saved) for saved in states),
            "stale": sum(any(s[1] in ("stale", "detached") for s in saved) for saved in states),
        }

    def _meet(self, node: Any) -> int | None:
        """The place of a node, a new one for one that was not met before."""
        if node is None or (_id(node) not in self._places and len(self._nodes) >= _COUNTED):
            return None
        place = self._places.setdefault(_id(node), len(self._nodes))
        if place == len(self._nodes):
            self._nodes.append(node)
        return place

    def _group(self, tensor: Any) -> int:
        """A number for a tensor's storage; what has none of its own is alone."""
        return self._storages.setdefault(_key(tensor), len(self._storages))

    def _tensor(self, place: int) -> dict[str, Any]:
        name, tensor = self._named[place]
        node = _grad_fn(tensor)
        at = None if node is None else self._places.get(_id(node))
        first = self._names[_id(tensor)]
        return {
            "name": name,
            "shape": _sizes(tensor),
            "leaf": _leaf(tensor),
            "requires_grad": _requires(tensor),
            "version": None if _is_inference(tensor) else _version(tensor),
            "made_by": at if at is not None and at < MAX_NODES else None,
            "output": _output(tensor),
            "storage": self._groups[place],
            "same": None if first == place else first,
            "grad": facts.read_grad(tensor) is not None,
            "retains": _retains(tensor),
        }

    def _node(self, place: int, node: Any, states: list[_State]) -> dict[str, Any]:
        told = {
            "op": facts._name(_type(node)),
            "next": [after for after in self._after[place][:MAX_NEXT] if after < MAX_NODES],
            "leaf": None,
            "named": None,
            "grad": False,
            "saved": [*islice(self._remarkable(states), MAX_SAVED)],
        }
        leaf = _variable(node) if _type(node) is _AccumulateGrad else None
        if facts.is_tensor(leaf):
            named = self._names.get(_id(leaf))
            told.update(leaf=_sizes(leaf), named=named, grad=facts.read_grad(leaf) is not None)
        return told

    def _remarkable(self, states: list[_State]) -> Iterator[list[Any]]:
        """Saved tensors that say more than that all is well."""
        for name, state, then, now, tensor in states:
            partner = self._partner(state, tensor)
            if state != "current" or partner is not None:
                yield [name, state, then, now, partner]

    def _partner(self, state: str, saved: Any) -> int | None:
        """The named tensor on the memory of a saved one: a constant, or whoever may have overwritten it."""
        if saved is None or (state == "current" and _requires(saved)):
            return None
        group = self._storages.get(_key(saved))
        places = [place for place, its in enumerate(self._groups) if its == group]
        constants = [place for place in places if not _requires(self._named[place][1])]
        return next(iter(constants if state == "current" else constants + places), None)


#: A saved tensor: its name, its state, its version when it was saved and now, and itself if it can be read.
_State = tuple[str, str, int | None, int | None, Any]


def _next(node: Any) -> Any:
    kind = _type(node)
    return (_next_of_python if _issubclass(kind, _PythonNode) else _getter(kind, "next_functions"))(node)


def _getter(kind: type, name: str) -> Any:
    """A descriptor of a node's class, which is C++'s own and cannot be written to."""
    return _class_dict(kind)[name].__get__


def _states(node: Any) -> list[_State]:
    """The saved tensors of a node, each with what became of it; scalars and None are none."""
    kind = _type(node)
    if _issubclass(kind, _PythonNode):
        return _state("saved", node, _raw_of_python, _saved_by_python)
    names = [name.removeprefix(_RAW) for name in _class_dict(kind) if name.startswith(_RAW)]
    found: list[_State] = []
    for name in names:
        found += _state(name, node, _getter(kind, _RAW + name), _getter(kind, _SAVED + name))
    return found


def _state(name: str, node: Any, read_raw: Any, read: Any) -> list[_State]:
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


def _key(tensor: Any) -> Any:
    """What is equal for tensors on the same memory, as long as they live."""
    storage = facts._storage_of(tensor)
    return -_id(tensor) if storage is None else _cdata(storage)


def _sizes(tensor: Any) -> str:
    return "x".join(map(str, _shape(tensor)[:_MAX_ITEMS])) or "scalar"
