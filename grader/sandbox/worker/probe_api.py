"""The words a probe may use, bound before any student's code ran.

``grader/inside.py`` names them outside; what they take, give and do not see stands in ``grader/inside.pyi``.
"""

from __future__ import annotations

import builtins
import gc
import math
import random
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from . import errors, gradients, kinds, torch_objects
from .facts import Raised, key_text, snap
from .graph import behind, graph, leaf_of, states
from .watching import graph_at, opaque

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_storage = torch._C.TensorBase.untyped_storage
_cdata = torch._C.StorageBase.__dict__["_cdata"].__get__
_detach = torch._C.TensorBase.detach
_nbytes = torch.UntypedStorage.nbytes
_saved_tensors_hooks = torch.autograd.graph.saved_tensors_hooks
_seed_torch, _seed_python, _seed_numpy = torch.default_generator.manual_seed, random.seed, np.random.seed
_calls = [0, 0]  # a seed of this probe, and how often students' functions were called in it
_collect = gc.collect
_catch_warnings, _simplefilter, _ref = warnings.catch_warnings, warnings.simplefilter, weakref.ref


def reseed(number: int) -> None:
    """Let every random generator start again, in 1 us where ``torch.manual_seed`` takes 90."""
    _seed_torch(number)
    _seed_python(number)
    _seed_numpy(number & 0xFFFFFFFF)  # the generator students' code draws from


def begin_probe(seed: int) -> None:
    """Forget the marks of earlier probes and seed everything for the next."""
    _marks.clear()
    gradients.begin_probe(seed)
    _calls[:] = [gradients.derived(seed, b"calls"), 0]
    reseed(gradients.derived(seed, b"inputs"))  # which torch.initial_seed() tells students' code


def seed_of_case(number: int) -> int:
    """A seed for a case of a contract; students' code learns it of the present case only."""
    return gradients.derived(_calls[0], b"case %d" % number)


def end_call() -> None:
    """Seed everything anew: what a student's function drew or seeded changes no later input."""
    _calls[1] += 1
    reseed(gradients.derived(_calls[0], b"%d" % _calls[1]))


def state(thing: Any) -> dict[str, Any]:
    """Snaps of everything a module or an optimizer holds; TypeError where it is neither."""
    if torch_objects.is_module(thing):
        parts = {part: torch_objects.named(thing, f"_{part}") for part in ("parameters", "buffers")}
        return {part: {name: snap(held) for name, held in named.items()} for part, named in parts.items()}
    if not torch_objects.is_optimizer(thing):
        raise TypeError(f"{errors.class_name(type(thing))} is neither a module nor an optimizer")
    groups, memory = torch_objects.groups_of(thing), torch_objects.memory_of(thing)
    return {
        "groups": [[snap(p) for p in group] for group in groups],
        "state": [
            {key_text(k): snap(v) for k, v in memory.get(id(p), ())} for group in groups for p in group
        ],
    }


def attempt(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What the function returns, or the error it raised, as a fact."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return Raised(error)


def warned(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, list[str]]:
    """What the function returns, and the texts of the warnings it caused; of a filter that it left, too."""
    with _catch_warnings(record=True) as caught:
        _simplefilter("always")
        before = [*warnings.filters]
        result = function(*args, **kwargs)
        left = ["a filter of warnings is left"] if [*warnings.filters] != before else []
    return result, left + [str(warning.message)[:300] for warning in caught[:20]]


def nodes(tensor: Any) -> int:
    """How many nodes of the autograd graph the tensor can reach."""
    return len(behind(tensor))


def reaches(tensor: Any, leaf: Any) -> bool:
    """Whether a backward from the tensor would arrive at the leaf."""
    return leaf is not None and any(leaf_of(node) is leaf for node in behind(tensor))


def freed(tensor: Any) -> bool:
    """Whether saved tensors of the tensor's graph are gone, so that another backward would raise.

    No backward runs to find out: a hook could raise an error of the same words.
    """
    return any(state == "freed" for node in behind(tensor) for _, state, *_ in states(node))


def _marked(node: Any, x: Any) -> Any:
    _marks.append(_ref(node))  # which lives exactly as long as its graph
    return x.clone()


class _Mark(torch.autograd.Function):
    """The identity, on a node that is watched."""

    forward = staticmethod(opaque(_marked))
    backward = staticmethod(opaque(lambda _, g: g))


_marks: list[weakref.ref[Any]] = []


def mark(tensor: Any) -> Any:
    """The same values on a graph node whose life ``alive`` watches, except under no_grad."""
    return _Mark.apply(tensor)  # type: ignore[no-untyped-call]


def alive() -> int:
    """How many marked graphs are still alive; cheap, because the zygote froze its own objects."""
    _collect()
    return sum(node() is not None for node in _marks)


class _Held:
    """What stands for a saved tensor, as long as that lives. It has no code to look at."""

    tensor: Any


class _Ledger:
    """Bytes saved for backward: of all storages ever saved, held now, and held at the same time at most."""

    def __init__(self) -> None:
        self.total = self.now = self.peak = 0
        self._holders: dict[int, list[int]] = {}  # storage -> [holders, bytes]
        self._watching: list[weakref.ref[_Held]] = []

    def held(self, tensor: Any) -> _Held:
        """What stands for a saved tensor; nothing leads from there to the ledger."""
        key, size = _cdata(_storage(tensor)), _nbytes(_storage(tensor))
        self.add(key, size)
        held = _Held()
        held.tensor = _detach(tensor)  # without its grad_fn, which may hold this very object
        self._watching.append(_ref(held, opaque(lambda _: self.remove(key))))
        return held

    def add(self, key: int, size: int) -> None:
        if key not in self._holders:
            self._holders[key] = [0, size]
            self.total += size
            self.now += size
        self._holders[key][0] += 1
        self.peak = max(self.peak, self.now)

    def remove(self, key: int) -> None:
        entry = self._holders[key]
        entry[0] -= 1
        if entry[0] == 0:
            self.now -= entry[1]
            del self._holders[key]  # the address may be used again by another storage


def saved(function: Callable[..., Any], *args: Any) -> dict[str, Any]:
    """What the function returns, and what it saved for backward."""
    ledger = _Ledger()
    with _saved_tensors_hooks(opaque(ledger.held), opaque(lambda held: held.tensor)):
        value = function(*args)
    return {"value": value, "bytes": ledger.total, "peak": ledger.peak}


_FUNCTIONS = (
    *(snap, state, attempt, warned, mark, alive, nodes, reaches, freed, graph, graph_at, saved, reseed),
    *(gradients.gradients, gradients.vjp),
)
_NOTING = {"note": kinds.note}  # which is of C, and has a name of its own
WORDS = {
    "torch": torch,
    "nn": nn,
    "F": functional,
    "math": math,
    **{function.__name__: function for function in _FUNCTIONS},
    **_NOTING,
}
