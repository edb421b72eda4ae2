"""The tensors in named values, each with a name as its author would write it.

A module stands for its parameters (``cell.weight_hh``), a list or a tuple for its items (``state[0]``), and a
dict for its values (``batch.x``); they may hold each other. All are read past their own methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from .errors import class_name
from .originals import builtins_copy, identity
from .torch_objects import is_module, is_tensor, items_of, members, modules_of

__builtins__ = builtins_copy()

MOST = 2_000  # tensors and other values; containers that hold each other would have no end
_MAX_DEPTH = 6
_MAX_NAME = 60


class Module(NamedTuple):
    """A module that was given, or is part of one."""

    name: str  # such as ``model.layers.3``; empty for a module without a name
    kind: str  # its class's name
    parent: int | None  # index of the module that holds it


class Given:
    """The tensors in named values."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self.tensors: list[tuple[str, Any]] = []
        self.owners: list[int | None] = []  # of each tensor the index of its module; None for any other
        self.modules: list[Module] = []  # in the order of ``named_modules``, and each once
        self.others: list[tuple[str, Any]] = []  # values without tensors
        self.is_cut = False  # whether there is more than is read
        self._seen: set[int] = set()
        for name, value in named.items():
            self._add(name, value, 0)

    def _add(self, name: str, value: Any, depth: int) -> None:
        if self._is_full():
            return
        if is_tensor(value):
            self._add_tensor(name, value, None)
        elif is_module(value):
            self._add_module(name, value)
        elif depth < _MAX_DEPTH and (items := [*islice(_items_of(value), MOST)]):
            for suffix, item in items:
                self._add(f"{name}{suffix}", item, depth + 1)
        else:
            self.others.append((name[:_MAX_NAME], value))

    def _add_module(self, name: str, value: Any) -> None:
        before = len(self.tensors) + len(self.others)
        places: dict[str, int] = {}  # of the modules in this one, by their prefixes
        for prefix, part in modules_of(value, f"{name}." if name else ""):
            if identity(part) in self._seen:
                continue
            self._seen.add(identity(part))
            holder = prefix[:-1].rpartition(".")[0]
            parent = places.get(f"{holder}." if holder else "") if places else None
            places[prefix] = index = len(self.modules)
            self.modules.append(Module(prefix[:-1], class_name(type(part)), parent))
            for key, held in members(part, "_parameters"):
                if self._is_full():
                    return
                if is_tensor(held):
                    self._add_tensor(f"{prefix}{key}", held, index)
                else:  # such as the parameter of a lazy module before its first call
                    self.others.append((f"{prefix}{key}"[:_MAX_NAME], held))
        if len(self.tensors) + len(self.others) == before:
            self.others.append((name[:_MAX_NAME], value))

    def _is_full(self) -> bool:
        self.is_cut = self.is_cut or len(self.tensors) + len(self.others) >= MOST
        return self.is_cut

    def _add_tensor(self, name: str, tensor: Any, owner: int | None) -> None:
        self.tensors.append((name[:_MAX_NAME], tensor))
        self.owners.append(owner)


def _items_of(value: Any) -> Iterator[tuple[str, Any]]:
    """The items of a container, each with the end of its name; none for other objects."""
    kind = type(value)
    if issubclass(kind, list):
        yield from ((f"[{index}]", item) for index, item in enumerate(list.__iter__(value)))
    elif issubclass(kind, tuple):
        yield from ((f"[{index}]", item) for index, item in enumerate(tuple.__iter__(value)))
    else:
        for index, (key, item) in enumerate(items_of(value)):
            if type(key) is str:
                yield (f".{key}" if str.isidentifier(key) else f"[{key}]"), item
            else:
                yield f"[{key if type(key) is int else index}]", item
