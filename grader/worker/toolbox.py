"""Inside: the words a probe may use, bound before any student's code ran.

``grader/inside.py`` names the same words outside; what an author needs to know about each stands
in its docstring here and in docs/authoring.md.
"""

from __future__ import annotations

import builtins
import functools
import gc
import hashlib
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

from .facts import Raised, Snap, is_tensor
from .graph import graph
from .untouched import Untouched

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_grad_fn = torch._C.TensorBase.__dict__["grad_fn"].__get__
_shape, _dtype = (torch._C.TensorBase.__dict__[name].__get__ for name in ("shape", "dtype"))
_storage = torch._C.TensorBase.untyped_storage
_cdata = torch._C.StorageBase.__dict__["_cdata"].__get__
_detach = torch._C.TensorBase.detach
_nbytes = torch.UntypedStorage.nbytes
_run_backward = torch.autograd.Variable._execution_engine.run_backward
_saved_tensors_hooks = torch.autograd.graph.saved_tensors_hooks
_seed_torch, _seed_python, _seed_numpy = torch.default_generator.manual_seed, random.seed, np.random.seed
_cotangents, _randn = torch.Generator(), torch.randn
_PythonNode = torch._C._FunctionBase
_saved_by_python = _PythonNode.__dict__["saved_tensors"].__get__
_collect = gc.collect
_sha256 = hashlib.sha256
_catch_warnings, _simplefilter, _ref = warnings.catch_warnings, warnings.simplefilter, weakref.ref
_wraps = functools.wraps

TWICE = "backward through the graph a second time"


def reseed(number: int) -> None:
    """Let every random generator start again; 1 us where ``torch.manual_seed`` takes 90."""
    _seed_torch(number)
    _seed_python(number)
    _seed_numpy(number & 0xFFFFFFFF)  # the generator students' code draws from


def begin_probe(seed: int) -> None:
    """Forget the marks of earlier probes and seed everything for the next."""
    _marks.clear()
    _cotangents.manual_seed(_derived(seed, b"cotangents"))
    reseed(_derived(seed, b"inputs"))  # torch.initial_seed() tells it to everybody


def _derived(seed: int, use: bytes) -> int:
    """A seed for one use, from which neither the seed itself nor that for another use can be found."""
    return int.from_bytes(_sha256(b"%d %b" % (seed, use)).digest()[:8])


def snap(tensor: Any) -> Any:
    """Facts of a tensor as it is now; anything else is passed on as it is."""
    return Snap(tensor) if is_tensor(tensor) else tensor


def state(thing: Any) -> dict[str, Any]:
    """Named snaps of everything a module or an optimizer holds now.

    A module gives ``{"parameters": {name: snap}, "buffers": {name: snap}}``; an optimizer
    ``{"groups": [[snap, ...], ...], "state": [{key: snap or number}, ...]}`` with one entry of
    ``state`` for each parameter in the order of the groups.
    """
    if isinstance(thing, nn.Module):
        return {
            "parameters": {name: snap(p) for name, p in thing.named_parameters(remove_duplicate=False)},
            "buffers": {name: snap(b) for name, b in thing.named_buffers(remove_duplicate=False)},
        }
    groups = [[*group["params"]] for group in thing.param_groups]
    return {
        "groups": [[snap(p) for p in group] for group in groups],
        "state": [
            {str(k): snap(v) for k, v in thing.state.get(p, {}).items()} for group in groups for p in group
        ],
    }


def attempt(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What the function returns, or the error it raised, as a fact. One probe, one failure domain."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return Raised(error)


def warned(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, list[str]]:
    """What the function returns, and the texts of the warnings it caused."""
    with _catch_warnings(record=True) as caught:
        _simplefilter("always")
        result = function(*args, **kwargs)
    return result, [str(warning.message)[:300] for warning in caught[:20]]


def nodes(tensor: Any) -> int:
    """How many nodes of the autograd graph the tensor can reach."""
    return len(_graph(tensor))


def reaches(tensor: Any, leaf: Any) -> bool:
    """Whether a backward from the tensor would arrive at the leaf."""
    return any(getattr(node, "variable", None) is leaf for node in _graph(tensor))


def _graph(tensor: Any) -> set[Any]:
    seen: set[Any] = set()
    waiting = [_grad_fn(tensor)] if is_tensor(tensor) else []
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting.extend(after for after, _ in node.next_functions)
    return seen


def freed(tensor: Any) -> bool:
    """Whether saved tensors of the tensor's graph are gone, so that another backward would raise.

    The nodes are asked, and no backward runs: a hook could raise an error of the same words.
    """
    return any(map(_is_released, _graph(tensor)))


def _is_released(node: Any) -> bool:
    kind = type(node)
    getters = [vars(kind)[name].__get__ for name in vars(kind) if name.startswith("_saved_")]
    for read in [_saved_by_python] if isinstance(node, _PythonNode) else getters:
        try:
            read(node)
        except RuntimeError as error:  # or a tensor that was overwritten, and still is there
            if TWICE in str(error):
                return True
    return False


def vjp(output: Any, *inputs: Any) -> list[Any]:
    """Vector-Jacobian products v^T (d output / d input) with a random cotangent v, one per input.

    v is drawn after the student's code ran, from a generator it cannot foresee, and is the same for
    the reference. An input the output does not depend on gives None. The graph is kept, and no
    ``.grad`` is touched.
    """
    cotangent = _randn(_shape(output), dtype=_dtype(output), generator=_cotangents)
    return list(_gradients(output, inputs, cotangent, keep=True))


def _gradients(output: Any, inputs: Any, cotangent: Any, *, keep: bool) -> Any:
    """torch.autograd.grad by the engine itself, whatever became of the Python function of that name."""
    return _run_backward((output,), (cotangent,), keep, False, tuple(inputs), True, accumulate_grad=False)


class _Token:
    """Lives exactly as long as the graph node that owns it."""


class _Mark(torch.autograd.Function):
    """The identity, with a token on its node."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.token = _Token()
        _marks.append(_ref(ctx.token))
        return x.clone()

    @staticmethod
    def backward(_: Any, g: Any) -> Any:
        return g


_marks: list[weakref.ref[_Token]] = []


def mark(tensor: Any) -> Any:
    """The same values on a graph node whose life ``alive`` watches; under no_grad there is none."""
    return _Mark.apply(tensor)  # type: ignore[no-untyped-call]


def alive() -> int:
    """How many marked graphs are still alive; cheap, because the zygote froze its own objects."""
    _collect()
    return sum(token() is not None for token in _marks)


class _Held:
    """A saved tensor; when it goes, its storage is no longer held by it."""

    def __init__(self, tensor: Any, ledger: _Ledger) -> None:
        self.tensor = _detach(tensor)  # without its grad_fn, which may hold this very object
        self._ledger = ledger
        self._key, size = _cdata(_storage(tensor)), _nbytes(_storage(tensor))
        ledger.add(self._key, size)

    def __del__(self) -> None:
        self._ledger.remove(self._key)


class _Ledger:
    """Bytes saved for backward: of all storages ever saved, held now, and held at the same time at most."""

    def __init__(self) -> None:
        self.total = self.now = self.peak = 0
        self._seen: set[int] = set()
        self._holders: dict[int, list[int]] = {}  # storage -> [holders, bytes]

    def add(self, key: int, size: int) -> None:
        if key not in self._seen:
            self._seen.add(key)
            self.total += size
        entry = self._holders.setdefault(key, [0, size])
        if entry[0] == 0:
            self.now += size
        entry[0] += 1
        self.peak = max(self.peak, self.now)

    def remove(self, key: int) -> None:
        entry = self._holders[key]
        entry[0] -= 1
        if entry[0] == 0:
            self.now -= entry[1]
            del self._holders[key]
            self._seen.discard(key)  # the address may be used again by another storage


def saved(function: Callable[..., Any], *args: Any) -> dict[str, Any]:
    """What the function returns, and what it saved for backward.

    Returns:
        ``{"value", "bytes", "peak"}``: the function's own result; the bytes of all distinct storages
        saved while it ran; and the most of them that were held at the same time. torch does not compare
        versions of tensors saved under such hooks, so look at a stale graph in another probe.
    """
    ledger = _Ledger()
    with _saved_tensors_hooks(lambda t: _Held(t, ledger), lambda held: held.tensor):
        value = function(*args)
    return {"value": value, "bytes": ledger.total, "peak": ledger.peak}


def spy(module: nn.Module) -> list[dict[str, Any]]:
    """A list that fills with a record of every call, ``module(x)`` and ``module.forward(x)`` alike.

    A record is ``{"inputs": {parameter name: snap}, "output": snap, "nodes": int}``: its arguments by
    the names ``forward`` gives them, at call time; what it returned (a tuple of snaps for a tuple);
    and how many autograd nodes the output reaches. It stays the real module; only its ``forward`` is
    watched, because a hook would miss those who call ``forward`` themselves.
    """
    calls: list[dict[str, Any]] = []
    forward = module.forward
    code = getattr(forward, "__wrapped__", forward).__code__
    names = code.co_varnames[1 : code.co_argcount]  # without self

    @_wraps(forward)
    def watched(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        inputs = {name: _snap_all(value) for name, value in given.items()}
        calls.append(record := {"inputs": inputs, "output": None, "nodes": 0})
        output = forward(*args, **kwargs)
        first = output[0] if isinstance(output, tuple) else output
        record.update(output=_snap_all(output), nodes=nodes(first))
        return output

    module.forward = _Forward(module, watched)
    return calls


class _Forward:
    """A watched forward of one module; a copy of the module has its own, which nobody watches."""

    def __init__(self, module: nn.Module, watched: Callable[..., Any]) -> None:
        self._module, self._watched = module, watched
        _wraps(watched)(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._watched(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied = memo.get(id(self._module))
        return self if copied is None else type(copied).forward.__get__(copied)


def _snap_all(value: Any) -> Any:
    return tuple(map(snap, value)) if isinstance(value, tuple) else snap(value)


WORDS = {
    "torch": torch,
    "nn": nn,
    "F": functional,
    "math": math,
    "snap": snap,
    "state": state,
    "attempt": attempt,
    "warned": warned,
    "spy": spy,
    "mark": mark,
    "alive": alive,
    "nodes": nodes,
    "reaches": reaches,
    "freed": freed,
    "graph": graph,
    "saved": saved,
    "untouched": Untouched,
    "vjp": vjp,
    "reseed": reseed,
}
