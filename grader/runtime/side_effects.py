"""Records everything that a call may change in its arguments.

A record is a dict from a path (``model.head.weight``, ``batches[0][1]``) to what was seen there, read past
whatever a class of the student's defines. Only what differs leaves the worker: a model has many parts, and
most calls change none of them. Objects have numbers that count from 0. An entry says its ``kind``:

``tensor``     ``tensor`` (a snap, with its ``.grad``), ``hooks``, ``attributes``, ``held`` (whether the
               tensor that was its ``.grad`` before has the same values).
``module``     ``class``, ``training``, ``hooks``, ``attributes``, ``persistent`` (names in the state_dict).
``optimizer``  ``class``, ``hooks``, ``attributes``.
``container``  ``type`` (list, tuple, dict), ``length``, ``entries`` (numbers of the objects in it).
``value``      ``value``: a number, a text or None.
``object``     ``object``: the number of any other object, or of an object that has a path already.
``gone``       nothing: it was there before.

The path ``torch`` holds the modes of torch, of Python, and the number of global hooks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import errors, torch_objects, torch_state
from .encoding import Snap
from .originals import (
    backward_hooks_of,
    builtins_copy,
    class_dict_of,
    identity,
    mro_of,
    post_accumulate_grad_hooks_of,
    tensor_dict_of,
)
from .torch_objects import items_of

__builtins__ = builtins_copy()

_MAX_DEPTH = 8
#: By identity, because to compare classes may run a metaclass.
_PLAIN = {identity(kind) for kind in (bool, int, float, str, type(None))}
#: The tables of a module; what they hold has paths of its own.
_TABLES = ("_parameters", "_buffers", "_modules")
_Parts = Iterable[tuple[str, Any]]  # the ends of paths, and what is there


class SideEffects:
    """``with SideEffects(model=model, w=w) as changes`` fills ``changes`` with ``before`` and ``after``.

    Both contain the paths that changed, ``before`` those that existed and ``after`` those that exist now.
    """

    def __init__(self, **named: Any) -> None:
        self._named = named
        self._numbers: dict[int, tuple[int, Any]] = {}  # holds the objects, so that no id is used twice
        self._begun: _Recorder
        self._changes: dict[str, Any] = {"before": {}, "after": {}}

    def __enter__(self) -> dict[str, Any]:
        self._begun = self._recorder()
        return self._changes

    def __exit__(self, *error: object) -> None:
        ended = self._recorder()
        before, after = self._begun.record, ended.record
        for path in before.keys() & after.keys():
            if before[path]["kind"] == after[path]["kind"] == "tensor":
                after[path]["held"] = _holds_its_values(before[path]["tensor"].grad)
        gone = {path: {"kind": "gone"} for path in before if path not in after}
        same = {path for path, entry in after.items() if path in before and _is_same(before[path], entry)}
        # An object that has a second path now may be recorded there, and is still the same here.
        same |= {
            path
            for path, entry in after.items()
            if entry["kind"] == "object" and self._begun.numbers.get(path) == entry["object"]
        }
        changed = gone | {path: entry for path, entry in after.items() if path not in same}
        for path in changed.keys() & before.keys():
            before[path], changed[path] = _without_what_is_alike(before[path], changed[path])
        self._changes["before"] = {path: before[path] for path in changed if path in before}
        self._changes["after"] = changed

    def _recorder(self) -> _Recorder:
        recorder = _Recorder(self._numbers)
        for name, value in self._named.items():
            recorder.add(name, value)
        return recorder


class _Recorder:
    """Records the object on a path and all objects that it reaches, each object once."""

    def __init__(self, numbers: dict[int, tuple[int, Any]]) -> None:
        self._numbers, self._seen = numbers, set[int]()
        self.numbers: dict[str, int] = {}  # of the objects, by path
        self.record: dict[str, Any] = {"torch": {"kind": "modes", **torch_state.modes()}}

    def add(self, path: str, value: Any, depth: int = 0) -> None:
        if identity(type(value)) in _PLAIN:
            self.record[path] = {"kind": "value", "value": value}
            return
        number = self.numbers[path] = self._number(value)
        looked_into = None
        if number not in self._seen and depth <= _MAX_DEPTH:
            looked_into = self._looked_into(value)
        self._seen.add(number)
        entry, parts = looked_into or ({"kind": "object", "object": number}, ())
        self.record[path] = entry
        for name, part in parts:
            self.add(path + name, part, depth + 1)

    def _number(self, thing: Any) -> int:
        return self._numbers.setdefault(identity(thing), (len(self._numbers), thing))[0]

    def _looked_into(self, value: Any) -> tuple[dict[str, Any], _Parts] | None:
        """The entry of what has parts or marks of its own, and the parts; None for any other object."""
        kind = type(value)
        if torch_objects.is_tensor(value):
            hooks = self._hooks([backward_hooks_of(value), post_accumulate_grad_hooks_of(value)])
            attributes = sorted(tensor_dict_of(value))
            entry = {"kind": "tensor", "tensor": Snap(value), "hooks": hooks, "attributes": attributes}
            return {**entry, "held": True}, ()
        if torch_objects.is_module(value):
            return self._module(kind, torch_objects.attributes_of(value))
        if torch_objects.is_optimizer(value):
            return self._optimizer(kind, torch_objects.attributes_of(value))
        return self._container(kind, value) if kind is list or kind is tuple or kind is dict else None

    def _module(self, kind: type, held: dict[str, Any]) -> tuple[dict[str, Any], _Parts]:
        left_out: Any = held.get("_non_persistent_buffers_set")
        buffers = {name for name, _ in items_of(held.get("_buffers"))}
        names = _attributes(held)
        entry = {
            "kind": "module",
            "class": self._number(kind),
            "training": held.get("training") is True,
            "hooks": self._hooks(_tables_of_hooks(held)),
            "attributes": [*names, *_of_class(kind)],
            "persistent": sorted(buffers - (left_out if type(left_out) is set else set())),
        }
        in_tables = [pair for table in _TABLES for pair in items_of(held.get(table))]
        others = [(n, held[n]) for n in names if n[:1] != "_" and n != "training"]
        return entry, [(f".{name}", part) for name, part in in_tables + others]

    def _optimizer(self, kind: type, held: dict[str, Any]) -> tuple[dict[str, Any], _Parts]:
        hooks = self._hooks(_tables_of_hooks(held))
        state = [
            value if type(value) is dict else dict(items_of(value))
            for _, value in items_of(held.get("state"))
        ]
        groups, defaults = held.get("param_groups"), held.get("defaults")
        parts = [(".param_groups", groups), (".state", state), (".defaults", defaults)]
        entry = {"kind": "optimizer", "class": self._number(kind), "hooks": hooks}
        return {**entry, "attributes": _attributes(held)}, parts

    def _container(self, kind: type, value: Any) -> tuple[dict[str, Any], _Parts]:
        items = list(dict.values(value)) if kind is dict else list(value)
        entry = {
            "kind": "container",
            "type": errors.class_name(kind),
            "length": len(items),
            "entries": [0 if identity(type(item)) in _PLAIN else self._number(item) for item in items],
        }
        names = [repr(k) if kind is dict and type(k) is str else n for n, k in enumerate(value)]
        return entry, [(f"[{name}]", item) for name, item in zip(names, items, strict=True)]

    def _hooks(self, tables: list[Any]) -> list[int]:
        """The numbers of the hooks in some tables; a hook with options stands in several of them."""
        hooks = [hook for table in tables for _, hook in items_of(table)]
        return sorted(self._number(hook) for hook in hooks if not isinstance(hook, bool)) if hooks else []


def _of_class(kind: type) -> list[str]:
    """The names of what a module's class and its bases hold, as far as they are not torch's own.

    ``copy`` and ``pickle`` set names with two underscores when they first see a class.
    """
    own = [
        held
        for held in map(class_dict_of, mro_of(kind))
        if not held.get("__module__", "torch").startswith("torch")
    ]
    return [f"{name} of its class" for held in own for name in held if name[:2] != "__"]


def _attributes(held: dict[str, Any]) -> list[str]:
    """The names of all attributes; those with an underscore are an author's own, too."""
    return [name for name in held if type(name) is str]


def _tables_of_hooks(held: dict[str, Any]) -> list[Any]:
    """The tables of hooks, of which most are empty, among the attributes of a module or an optimizer."""
    return [table for name, table in held.items() if name[-5:] == "hooks" and table]


def _without_what_is_alike(
    then: dict[str, Any], now: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two entries without long lists of names that are equal: many modules may change their mode at once."""
    equal = [part for part in ("attributes", "persistent") if then.get(part) and then[part] == now.get(part)]
    without: dict[str, Any] = {part: [] for part in equal}
    return {**then, **without}, {**now, **without}


def _holds_its_values(snap: Snap | None) -> bool:
    """Whether a tensor has the values that it had; where there was none, nothing changed."""
    return snap is None or torch_objects.elements_of(snap.tensor) == snap.fields.value


def _is_same(then: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether two entries are the same; of snaps also what does not leave the worker counts."""
    if then["kind"] != "tensor" or now["kind"] != "tensor":
        return then == now
    rest = ("hooks", "attributes", "held")
    return _are_same(then["tensor"], now["tensor"]) and all(then[key] == now[key] for key in rest)


def _are_same(one: Snap | None, other: Snap | None) -> bool:
    """Whether two snaps are of the same tensor, on the same memory, and nothing about it has changed."""
    if one is None or other is None:
        return one is other
    keys = [torch_objects.memory_key(snap.tensor, snap.storage) for snap in (one, other)]
    alike = one.tensor is other.tensor and keys[0] == keys[1] and one.fields == other.fields
    return alike and _are_same(one.grad, other.grad)
