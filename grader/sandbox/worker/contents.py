"""What a module or an optimizer holds, read past everything its class may define.

A student's class can override ``parameters``, ``__getattr__`` or ``state``, and replace ``_parameters`` by
its own kind of dictionary. So attributes are taken from where Python keeps them, and dictionaries and lists
are read as such.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_Module, _Optimizer = torch.nn.Module, torch.optim.Optimizer
_module_dict = _Module.__dict__["__dict__"].__get__
_optimizer_dict = _Optimizer.__dict__["__dict__"].__get__
_type, _id, _issubclass = type, id, issubclass
_MAX_MODULES = 1_000  # in a module; two that hold each other twice have no end


def is_module(thing: Any) -> bool:
    """Whether it is a module, whatever its class says of itself."""
    return _issubclass(_type(thing), _Module)


def is_optimizer(thing: Any) -> bool:
    """Whether it is an optimizer, whatever its class says of itself."""
    return _issubclass(_type(thing), _Optimizer)


def attributes_of(thing: Any) -> dict[str, Any]:
    """The attributes of a module or an optimizer, where Python keeps them."""
    return _module_dict(thing) if is_module(thing) else _optimizer_dict(thing)  # type: ignore[no-any-return]


def items_of(table: Any) -> list[tuple[Any, Any]]:
    """The items of a table, which is a dict whatever its class says; of anything else none."""
    return [*dict.items(table)] if _issubclass(_type(table), dict) else []


def modules_of(module: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """A module and all below it in the order of ``named_modules``, each with the prefix of its names.

    A module that several modules hold comes once for each of them.
    """
    return islice(_below(module, prefix, ()), _MAX_MODULES)


def _below(module: Any, prefix: str, above: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    yield prefix, module
    above = (*above, module)
    for name, child in members(module, "_modules"):
        if is_module(child) and not any(child is parent for parent in above):
            yield from _below(child, f"{prefix}{name}.", above)


def members(module: Any, part: str) -> list[tuple[str, Any]]:
    """What a module itself registered: ``_parameters``, ``_buffers`` or ``_modules``; None is left out."""
    registered = items_of(attributes_of(module).get(part))
    return [(name, value) for name, value in registered if _type(name) is str and value is not None]


def named(module: Any, part: str) -> dict[str, Any]:
    """What a module and all below it registered, by its full names; what is shared has several."""
    return {
        f"{prefix}{name}": value
        for prefix, child in modules_of(module)
        for name, value in members(child, part)
    }


def groups_of(optimizer: Any) -> list[list[Any]]:
    """The tensors of an optimizer by their groups, in order."""
    groups = _items(attributes_of(optimizer).get("param_groups"))
    return [_items(dict(items_of(group)).get("params")) for group in groups]


def memory_of(optimizer: Any) -> dict[int, list[tuple[Any, Any]]]:
    """What an optimizer remembers of each parameter (momentum ...), by the id of the parameter."""
    kept = items_of(attributes_of(optimizer).get("state"))
    return {_id(parameter): items_of(memory) for parameter, memory in kept}


def _items(value: Any) -> list[Any]:
    return [*list.__iter__(value)] if _issubclass(_type(value), list) else []
