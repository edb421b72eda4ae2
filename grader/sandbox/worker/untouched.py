"""The word ``untouched``, which records what a call may change in the things it was given.

A record is a dict from a path (``model.head.weight``, ``batches[0][1]``) to what was seen there, read past
whatever a class of the student's defines. Only what was named and what differs leaves the worker: a model has
many parts, and most calls change none of them. Objects have numbers that count from 0. An entry says its
``kind``:

``tensor``     ``tensor`` (a snap, with its ``.grad``), ``hooks``, ``attributes``.
``module``     ``class``, ``training``, ``hooks``, ``attributes``, ``persistent`` (names in the state_dict).
``optimizer``  ``class``, ``hooks``.
``container``  ``type`` (list, tuple, dict), ``length``, ``entries`` (numbers of the objects in it).
``value``      ``value``: a number, a text or None.
``object``     ``object``: the number of any other object, or of an object that has a path already.
``gone``       nothing: it was there before.

The path ``torch`` holds the modes of torch, of Python, and the number of global hooks.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

import torch

from . import errors, torch_objects, torch_state
from .facts import Snap
from .torch_objects import items_of

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_MAX_DEPTH = 8
_tensor_dict = torch.Tensor.__dict__["__dict__"].__get__
_hooks_of_tensor = tuple(
    torch._C.TensorBase.__dict__[name].__get__ for name in ("_backward_hooks", "_post_accumulate_grad_hooks")
)
_type, _id = type, id
_PLAIN = {id(kind) for kind in (bool, int, float, str, type(None))}  # to compare classes may run a metaclass
#: The tables of a module; what they hold has paths of its own.
_TABLES = ("_parameters", "_buffers", "_modules")
_Parts = Iterator[tuple[str, Any]]  # the ends of paths, and what is there


class Untouched:
    """The word: ``with untouched(model=model, w=w) as kept`` fills ``kept`` with ``before`` and ``after``.

    ``after`` has the paths on which something is other by then, ``before`` these and all that are named.
    """

    def __init__(self, **named: Any) -> None:
        self._named = named
        self._objects = _Numbers()
        self._kept: dict[str, Any] = {}

    def __enter__(self) -> dict[str, Any]:
        self._kept["before"] = self._record()
        return self._kept

    def __exit__(self, *error: object) -> None:
        before, after = self._kept["before"], self._record()
        changed = _changed(before, after)
        shown = {"torch", *self._named, *changed}
        self._kept["before"] = {path: entry for path, entry in before.items() if path in shown}
        self._kept["after"] = changed

    def _record(self) -> dict[str, Any]:
        recorder = _Recorder(self._objects)
        for name, value in self._named.items():
            recorder.add(name, value)
        return recorder.record


class _Numbers:
    """A number for each object; it holds them, so that no identity is used twice."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, Any]] = {}

    def of(self, thing: Any) -> int:
        return self._known.setdefault(_id(thing), (len(self._known), thing))[0]


class _Recorder:
    """Records what is on a path and all that can be reached from there, each object once."""

    def __init__(self, objects: _Numbers) -> None:
        self._objects, self._seen = objects, set[int]()
        self.record: dict[str, Any] = {"torch": {"kind": "modes", **torch_state.modes()}}

    def add(self, path: str, value: Any, depth: int = 0) -> None:
        if _id(_type(value)) in _PLAIN:
            self.record[path] = {"kind": "value", "value": value}
            return
        number = self._objects.of(value)
        parts: _Parts = iter(())
        entry: dict[str, Any] = {"kind": "object", "object": number}
        if number not in self._seen and depth <= _MAX_DEPTH:
            entry, parts = self._looked_into(value, entry)
        self._seen.add(number)
        self.record[path] = entry
        for name, part in parts:
            self.add(path + name, part, depth + 1)

    def _looked_into(self, value: Any, entry: dict[str, Any]) -> tuple[dict[str, Any], _Parts]:
        kind = _type(value)
        if torch_objects.is_tensor(value):
            return _tensor(value, self._objects), iter(())
        if torch_objects.is_module(value):
            return _module(value, self._objects)
        if torch_objects.is_optimizer(value):
            return _optimizer(value, self._objects)
        if kind is list or kind is tuple or kind is dict:
            return _container(value, self._objects)
        return entry, iter(())


def _changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    gone = {path: {"kind": "gone"} for path in before if path not in after}
    same = {path for path, entry in after.items() if path in before and _is_same(before[path], entry)}
    return gone | {path: entry for path, entry in after.items() if path not in same}


def _is_same(then: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether two entries are the same; of snaps also what does not leave the worker counts."""
    if then["kind"] != "tensor" or now["kind"] != "tensor":
        return then == now
    rest = ("hooks", "attributes")
    return _are_same(then["tensor"], now["tensor"]) and all(then[key] == now[key] for key in rest)


def _are_same(one: Snap | None, other: Snap | None) -> bool:
    """Whether two snaps are of the same tensor, on the same memory, and nothing about it has changed."""
    if one is None or other is None:
        return one is other
    keys = [torch_objects.memory_key(snap.tensor, snap.storage) for snap in (one, other)]
    alike = one.tensor is other.tensor and keys[0] == keys[1] and one.fields == other.fields
    return alike and _are_same(one.grad, other.grad)


def _tensor(tensor: Any, objects: _Numbers) -> dict[str, Any]:
    hooks = _hooks([read(tensor) for read in _hooks_of_tensor], objects)
    attributes = sorted(_tensor_dict(tensor))
    return {"kind": "tensor", "tensor": Snap(tensor), "hooks": hooks, "attributes": attributes}


def _module(module: Any, objects: _Numbers) -> tuple[dict[str, Any], _Parts]:
    held = torch_objects.attributes_of(module)
    tables = {name: held.get(name) for name in _TABLES}
    buffers = tables["_buffers"]
    left_out: Any = held.get("_non_persistent_buffers_set")
    entry = {
        "kind": "module",
        "class": objects.of(_type(module)),
        "training": held.get("training") is True,
        "hooks": _hooks([table for name, table in held.items() if name.endswith("hooks")], objects),
        "attributes": sorted(name for name in held if _type(name) is str),
        "persistent": sorted(set(dict(items_of(buffers))) - (left_out if _type(left_out) is set else set())),
    }
    return entry, _parts_of_module(held, tables)


def _parts_of_module(held: dict[str, Any], tables: dict[str, Any]) -> _Parts:
    for table in tables.values():
        for name, part in items_of(table):
            yield f".{name}", part
    for name, value in held.items():
        if _type(name) is str and not name.startswith("_") and name != "training":
            yield f".{name}", value


def _optimizer(optimizer: Any, objects: _Numbers) -> tuple[dict[str, Any], _Parts]:
    held = torch_objects.attributes_of(optimizer)
    hooks = _hooks([table for name, table in held.items() if name.endswith("hooks")], objects)
    entry = {"kind": "optimizer", "class": objects.of(_type(optimizer)), "hooks": hooks}
    groups = held.get("param_groups")
    state = items_of(held.get("state"))
    states = [value if _type(value) is dict else dict(items_of(value)) for _, value in state]
    return entry, iter([(".param_groups", groups), (".state", states)])


def _container(value: Any, objects: _Numbers) -> tuple[dict[str, Any], _Parts]:
    items = list(dict.values(value)) if _type(value) is dict else list(value)
    entry = {
        "kind": "container",
        "type": errors.class_name(_type(value)),
        "length": len(items),
        "entries": [0 if _id(_type(item)) in _PLAIN else objects.of(item) for item in items],
    }
    keys = [repr(k) if _type(k) is str else str(n) for n, k in enumerate(value)]
    names = keys if _type(value) is dict else [str(n) for n in range(len(items))]
    return entry, ((f"[{name}]", item) for name, item in zip(names, items, strict=True))


def _hooks(tables: list[Any], objects: _Numbers) -> list[int]:
    """The numbers of the hooks in some tables; a hook with options stands in several of them."""
    hooks = (hook for table in tables for _, hook in items_of(table))
    return sorted(objects.of(hook) for hook in hooks if not isinstance(hook, bool))
