"""Compares the attributes that a probe relies on with those of before any student's code, and puts them back.

They belong to torch's modules and classes, to some of Python's, to our own modules and to the probe itself
(its words, helpers and classes). Code and defaults of Python functions are compared too. Whole packages are
captured, for no list knows all that may be attacked.
"""

from __future__ import annotations

import builtins
import math
import sys
import types
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch import nn

from . import audit
from .snapshots import MISSING, AttributeSnapshot, AttributeSnapshots

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

#: Compared after every call also where no writes are counted.
_FIRST: tuple[Any, ...] = (
    *(torch.Tensor, torch.UntypedStorage, nn.Parameter, nn.Module, nn.Linear, nn.RNNCell),
    *(torch.autograd.Function, torch.optim.Optimizer, torch.optim.SGD),
    *(torch, torch.autograd, torch.autograd.graph, nn, nn.functional, nn.init, torch.optim, builtins),
)
#: Modules that are captured with everything below them and the classes they hold. Ours are among them.
_PACKAGES = ("torch.nn", "torch.optim", "torch.autograd", "worker")
#: Modules that are captured alone, with the classes defined there.
_MODULES = (
    *("torch", "torch._tensor", "torch._utils", "torch._ops", "torch.library", "torch.overrides"),
    *("torch.functional", "torch._VF", "torch.random", "torch.storage", "torch._jit_internal"),
    *("torch._C", "torch._C._nn", "torch._C._autograd", "torch._C._functorch", "torch._C._functions"),
    *("torch.utils", "torch.utils._device", "torch.utils._contextlib", "torch.utils._python_dispatch"),
    *("torch.utils._pytree", "torch.utils.checkpoint", "torch.utils.hooks", "torch.utils.weak"),
    *("builtins", "functools", "inspect", "math", "random", "weakref", "contextlib", "copy"),
    *("collections", "types", "abc", "operator", "itertools"),
)
#: What Python and torch themselves set while running.
_FLUCTUATING = {
    *("__dict__", "__weakref__", "__doc__", "__builtins__", "_", "__annotations__", "__abstractmethods__"),
    "_filters_version",  # warnings counts its filters
    "__slotnames__",  # what copyreg finds out about a class that is copied or stored
    *("__spec__", "__loader__", "__file__"),  # of a module that is loaded again
    "Storage",  # torch's own name of the class that goes with the default dtype
    "next_id",  # of hooks
}
#: Modules that nothing writes to, besides the classes.
_STILL = ("torch.nn", "torch.nn.functional", "torch.nn.init")
_Function = types.FunctionType
_PARTS = ("__code__", "__defaults__", "__kwdefaults__")
_parts = [_Function.__dict__[name] for name in _PARTS]


class _Parts(NamedTuple):
    """A Python function and its parts, which can be exchanged."""

    name: str
    function: types.FunctionType
    values: tuple[Any, ...]
    keywords: dict[str, Any]  # a copy of the last of them, which can be written to

    @classmethod
    def of(cls, name: str, function: types.FunctionType) -> _Parts:
        values = tuple(part.__get__(function) for part in _parts)
        return cls(name, function, values, dict(values[2] or {}))

    def put_back(self) -> list[str]:
        """Put back the parts that were exchanged; returns their names."""
        current = [part.__get__(self.function) for part in _parts]
        exchanged = [index for index, value in enumerate(self.values) if current[index] is not value]
        for index in exchanged:
            _parts[index].__set__(self.function, self.values[index])
        if self.values[2] is not None and self.values[2] != self.keywords:
            self.values[2].clear()
            self.values[2].update(self.keywords)
            exchanged.append(2)
        return [f"{self.name}.{_PARTS[index]}" for index in dict.fromkeys(exchanged)]


class _Captured:
    """The attributes of classes and modules, and the functions among these, only of `home` if it is given."""

    def __init__(self, owners: Iterable[Any], home: str | None = None) -> None:
        with audit.ignoring_events():
            self.namespaces = AttributeSnapshots([*owners], most=len(_FIRST), few=home is not None)
            for namespace in self.namespaces.all:
                state = set() if home else _state_of(namespace.owner)
                for name in state | (_FLUCTUATING & namespace.original.keys()):
                    del namespace.original[name]
            functions = _functions_in(self.namespaces.all).items()
            self.functions = [_Parts.of(name, f) for f, name in functions if home in (None, f.__module__)]

    def restore(self, *, exchanged: bool) -> list[str]:
        """Put back what was changed; returns its names."""
        changed: list[str] = []
        if exchanged:
            with audit.ignoring_events():
                changed += [name for parts in self.functions for name in parts.put_back()]
        writes = self.namespaces.writes()  # before the comparison: later writes are looked at again
        unchanged = []
        for index, namespace in self.namespaces.written():
            repaired = _put_back(namespace) + _take_away(namespace)
            changed += repaired
            if not repaired:
                unchanged.append(index)
        if unchanged:
            self.namespaces.mark_clean(unchanged, writes)
        return changed


def _functions_in(namespaces: Iterable[AttributeSnapshot]) -> dict[types.FunctionType, str]:
    """Python functions with their names, by preference where they were defined."""
    names: dict[types.FunctionType, str] = {}
    for namespace in namespaces:
        for name, value in namespace.original.items():
            function = value.__func__ if type(value) in (staticmethod, classmethod) else value
            if type(function) is _Function:
                at_home = function.__module__ == namespace.owner.__name__
                if at_home or function not in names:
                    names[function] = f"{_name(namespace.owner)}.{name}"
    return names


_captured: list[_Captured] = []  # what all probes rely on, and what the present one does
_after_probes: list[_Captured] = []  # what a probe that listens to warnings changes itself


def capture() -> None:
    """In the zygote, once everything is imported and before any student's code."""
    _captured.append(_Captured(dict.fromkeys([*_FIRST, *_owners()])))
    _after_probes.append(_Captured([warnings]))


def capture_probe(words: types.ModuleType) -> None:
    """What the next probe relies on besides: the module of its words and the classes in there."""
    classes = (v for v in vars(words).values() if isinstance(v, type) and v.__module__ == words.__name__)
    _captured[1:] = [_Captured([words, *classes], words.__name__)]


def restore(*, within_probe: bool = False) -> list[str]:
    """Put back each attribute that was replaced, removed or put over an inherited; returns their names."""
    exchanged = audit.functions_were_set()
    looked_at = _captured if within_probe else [*_captured, *_after_probes]
    return [name for captured in looked_at for name in captured.restore(exchanged=exchanged)]


def writes() -> list[bytes]:
    """How often each was written to, for `has_suspicious_writes`."""
    return [captured.namespaces.writes() for captured in _captured]


def has_suspicious_writes(before: list[bytes]) -> bool:
    """Whether a class or a module to which no honest code writes was written to since then.

    That shows code which replaces a method and puts it back itself, also where no function of the notebook
    returned in between (a method of its classes, a hook, a generator).
    """
    return any(
        isinstance(namespace.owner, type) or namespace.owner.__name__ in _STILL
        for captured, then in zip(_captured, before, strict=True)
        for namespace in captured.namespaces.written_between(then, captured.namespaces.writes())
        if str(_name(namespace.owner)).startswith(("torch.Tensor", "torch.nn.", "torch.optim."))
    )


def _owners() -> Iterator[Any]:
    """The modules to capture, and the classes that live in them."""
    for name, module in sorted(sys.modules.items()):
        below = any(name == package or name.startswith(f"{package}.") for package in _PACKAGES)
        if type(module) is types.ModuleType and (below or name in _MODULES):
            yield module
            kinds = [value for value in vars(module).values() if isinstance(value, type)]
            yield from (kind for kind in kinds if kind.__module__ == name and _can_change(kind))


def _can_change(kind: type) -> bool:
    """Whether Python lets attributes of a class be written: it does not where the class is C's own."""
    return bool(kind.__flags__ & _HEAP_TYPE) and not kind.__flags__ & _IMMUTABLE_TYPE


_HEAP_TYPE, _IMMUTABLE_TYPE = 1 << 9, 1 << 8


def _state_of(owner: Any) -> set[str]:
    """Names of what torch or Python remember (a device, a lazy import), not of what they do."""
    if not isinstance(owner, type) and owner.__name__.partition(".")[0] in ("worker", "probe"):
        return set()
    constants = owner in (torch, math)
    return {
        name
        for name, value in vars(owner).items()
        if not _acts(value) and (name.startswith("_") or not constants)
    }


def _acts(value: Any) -> bool:
    return callable(value) or hasattr(type(value), "__get__") or isinstance(value, types.ModuleType)


def _name(owner: Any) -> str:
    return f"{owner.__module__}.{owner.__qualname__}" if isinstance(owner, type) else str(owner.__name__)


def _put_back(namespace: AttributeSnapshot) -> list[str]:
    """Put back replaced and removed attributes; returns their names."""
    if namespace.is_complete():
        return []
    changed = []
    owner, current = namespace.owner, vars(namespace.owner)
    for name, value in namespace.original.items():
        if current.get(name, MISSING) is not value:
            setattr(owner, name, value)
            changed.append(f"{_name(owner)}.{name}")
    return changed


def _take_away(namespace: AttributeSnapshot) -> list[str]:
    """Remove attributes of a class that hide inherited ones; returns their names."""
    owner, current = namespace.owner, vars(namespace.owner)
    if not isinstance(owner, type):
        return []
    added = [name for name in current if name not in namespace.names and name not in _FLUCTUATING]
    hiding = [name for name in added if _shadows(owner, name)]
    for name in hiding:
        delattr(owner, name)
    return [f"{_name(owner)}.{name}" for name in hiding]


def _shadows(owner: type, name: str) -> bool:
    """Whether an added attribute hides an inherited one; a helper method of the student's does not."""
    return any(name in vars(base) for base in owner.__mro__[1:])
