"""Compares what a probe relies on with what it was before any student's code, and puts it back.

That is: the classes of tensors, modules and optimizers, what the probe names of torch's modules and of
Python's own functions, and its own words. A function whose code is exchanged raises an event (`audit.py`).
What torch uses deeper inside is not compared: a cell that replaces it has to name it.
"""

from __future__ import annotations

import builtins
import gc
import math
import types
import warnings
from collections.abc import Iterator
from itertools import repeat
from operator import is_
from typing import Any

import torch
from torch import nn

from . import audit

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

#: Compared always. Of a class that a probe names, its own classes are compared as well.
_CLASSES = (torch.Tensor, nn.Parameter, nn.Module, torch.autograd.Function, torch.optim.Optimizer)
#: Compared as far as a probe names them: to look at all they hold copies the pages of thousands of objects.
_MODULES = (
    *(torch, torch.autograd, torch.autograd.graph, torch.func, torch.optim, torch.utils.checkpoint),
    *(nn, nn.functional, nn.init, nn.utils, builtins, math, warnings),
)
#: What Python and torch themselves set while running.
_FLUCTUATING = {"__abstractmethods__", "_", "Storage"}
_MISSING = object()


class _Attributes:
    """Attributes of a class or a module, all or some, and the values that they have to have."""

    def __init__(self, owner: Any, values: dict[str, Any] | None = None) -> None:
        # The dictionary itself, of which `vars` of a class only gives a slower proxy.
        self._current = gc.get_referents(vars(owner))[0] if isinstance(owner, type) else vars(owner)
        self.owner, self.values = owner, dict(self._current) if values is None else values

    def restore(self) -> list[str]:
        """Put back what was replaced or removed, and remove what hides an inherited attribute.

        What a class or a module merely remembers (a number, a text) is its own affair.

        Returns:
            The names of what was changed.
        """
        owner, values, current = self.owner, self.values, self._current
        is_class = isinstance(owner, type)
        are_same = all(map(is_, map(current.get, values, repeat(_MISSING)), values.values()))
        if are_same and (not is_class or len(current) == len(values)):
            return []
        other = [name for name, value in values.items() if current.get(name, _MISSING) is not value]
        changed = [n for n in other if _acts(n, values[n]) or _acts(n, current.get(n, _MISSING))]
        added = [n for n in current if n not in values and _acts(n, current[n])] if is_class else []
        hiding = [name for name in added if any(name in vars(base) for base in owner.__mro__[1:])]
        place: Any = type if is_class else types.ModuleType
        for name in changed:
            place.__setattr__(owner, name, values[name])
        for name in hiding:
            place.__delattr__(owner, name)
        return [f"{_name(owner)}.{name}" for name in (*changed, *hiding)]


def _acts(name: str, value: Any) -> bool:
    """Whether an attribute can be called or asked for another, and is none that Python and torch set."""
    acts = callable(value) or hasattr(type(value), "__get__") or type(value) is types.ModuleType
    return acts and name not in _FLUCTUATING


def _name(owner: Any) -> str:
    return f"{owner.__module__}.{owner.__qualname__}" if isinstance(owner, type) else str(owner.__name__)


_modules: list[_Attributes] = []
_classes: dict[type, _Attributes] = {}  # all that torch's modules offer
_always: list[_Attributes] = []
_of_probe: list[_Attributes] = []


def capture() -> None:
    """In the zygote, once everything is imported and before any student's code."""
    _modules[:] = map(_Attributes, _MODULES)
    offered = [value for module in _modules for value in module.values.values() if isinstance(value, type)]
    for kind in (base for value in (*_CLASSES, *offered) for base in value.__mro__):
        if kind.__module__.startswith("torch") and kind.__flags__ & _CAN_CHANGE == _HEAP_TYPE:
            _classes.setdefault(kind, _Attributes(kind))
    _always[:] = [_classes[kind] for kind in _CLASSES]


#: Of the flags of a class: it is none of C's own, so that Python lets its attributes be written.
_HEAP_TYPE, _CAN_CHANGE = 1 << 9, 1 << 9 | 1 << 8


def capture_probe(code: types.CodeType, words: types.ModuleType) -> None:
    """What the next probe relies on besides: what its code names, its words, and the classes among these."""
    names = set(_names_in(code))
    named = []
    for module in _modules:
        values = {name: module.values[name] for name in sorted(names & module.values.keys())}
        named += [_Attributes(module.owner, values)] if values else []
    offered = (value for module in named for value in module.values.values() if isinstance(value, type))
    bases = dict.fromkeys(base for value in offered for base in value.__mro__)
    kinds = [base for base in bases if base in _classes and base not in _CLASSES]
    own = [v for v in vars(words).values() if isinstance(v, type) and v.__module__ == words.__name__]
    _of_probe[:] = [*named, *(_classes[kind] for kind in kinds)]
    _of_probe.extend((_Attributes(words), *map(_Attributes, own)))


def _names_in(code: types.CodeType) -> Iterator[str]:
    """The names that code uses, with all that is defined in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)


def restore() -> list[str]:
    """Put back what of this was changed; returns its names."""
    functions = audit.put_back_functions()
    return functions + [name for attributes in (*_always, *_of_probe) for name in attributes.restore()]
