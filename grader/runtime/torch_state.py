"""Keeps a question's code from reaching another question through torch's own state and attributes.

Before every request the modes that a student's code may have changed are put back. What listens to torch or
answers in its place is ended as a student's function returns, and what it replaced is put back then.
"""

from __future__ import annotations

import builtins
import gc
import math
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from operator import is_
from typing import Any

import torch
from torch import nn
from torch.utils._device import DeviceContext

from . import audit
from .originals import (
    ITIMER_REAL,
    InferenceMode,
    builtins_copy,
    clear_autocast_cache,
    count_dispatch_modes,
    count_function_modes,
    count_threads,
    enable_collecting,
    enter_autocast,
    float32,
    function_mode_at,
    get_autocast_dtype,
    get_default_dtype,
    get_frame_evaluation,
    get_profile,
    get_timer,
    get_trace,
    is_autocast_cached,
    is_autocast_enabled,
    is_collecting,
    is_grad_enabled,
    is_inference_mode_enabled,
    leave_autocast,
    pop_dispatch_mode,
    pop_function_mode,
    pop_saved_tensors_hooks,
    set_autocast_cached,
    set_autocast_dtype,
    set_autocast_enabled,
    set_default_device,
    set_default_dtype,
    set_frame_evaluation,
    set_grad_enabled,
    set_profile,
    set_timer,
    set_trace,
    top_saved_tensors_hooks,
)

__builtins__ = builtins_copy()

#: The registries themselves, of hooks that every module or every optimizer calls.
_REGISTRIES: tuple[tuple[types.ModuleType, dict[str, Any]], ...] = tuple(
    (module, {n: v for n, v in vars(module).items() if n.startswith("_global_") and isinstance(v, dict)})
    for module in (sys.modules[owner.__module__] for owner in (nn.Module, torch.optim.Optimizer))
)
_GLOBAL_HOOKS = tuple(registry for _, named in _REGISTRIES for registry in named.values())

_printing: Any = vars(torch._tensor_str.PRINT_OPTS)
_print_as = dict(_printing)
_denormal = float("5e-324")  # the processor takes it for 0 where denormal numbers are flushed
#: Settings of torch and Python: how each is read and how it is set.
_SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "recursion limit": (sys.getrecursionlimit, sys.setrecursionlimit),
    "anomaly mode": (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    "deterministic algorithms": (
        torch.are_deterministic_algorithms_enabled,
        torch._C._set_deterministic_algorithms,  # the public one imports a compiler
    ),
    "torch's number of threads": (torch.get_num_threads, torch.set_num_threads),
    "float32 matmul precision": (
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
    ),
    "use of mkldnn": (torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled),
    "check of sparse tensors": (
        torch._C._check_sparse_tensor_invariants,
        torch._C._set_check_sparse_tensor_invariants,
    ),
    "multithreaded backward": (
        torch._C._is_multithreading_enabled,
        torch._C._set_multithreading_enabled,
    ),
    "filling of uninitialized memory": (
        torch._C._get_deterministic_fill_uninitialized_memory,
        torch._C._set_deterministic_fill_uninitialized_memory,
    ),
    "flushing of denormal numbers": (lambda: _denormal == 0.0, torch.set_flush_denormal),
    "way of printing tensors": (
        lambda: ", ".join(map(str, _printing.values())),
        lambda _: _printing.update(_print_as),
    ),
}


#: The settings that every question begins with.
_settings = {name: read() for name, (read, _) in _SETTINGS.items()}


def restore_modes() -> None:
    """Put back grad mode, default dtype, other modes of torch, warnings, global hooks and the timer."""
    set_timer(ITIMER_REAL, 0)  # an alarm would go off in another question's request
    _leave_intercepting_modes()
    _restore_lasting_modes()
    set_grad_enabled(True)
    if get_default_dtype() is not float32:
        set_default_dtype(float32)
    for hooks in _GLOBAL_HOOKS:
        hooks.clear()
    for name, (read, put) in _SETTINGS.items():
        if read() != _settings[name]:
            put(_settings[name])
    warnings.resetwarnings()
    warnings.simplefilter("ignore")


def intercepting_modes() -> list[str]:
    """Kinds of modes that could answer in the place of torch's functions.

    The default device is such a mode too, but harmless; it is put back.
    """
    if count_function_modes():
        set_default_device(None)
    numbers = {"torch function modes": count_function_modes(), "torch dispatch modes": count_dispatch_modes()}
    return [kind for kind, number in numbers.items() if number]


def _is_tracing() -> bool:
    return get_trace() is not None or get_profile() is not None


def _leave_intercepting_modes() -> None:
    intercepting_modes()
    while count_function_modes():
        pop_function_mode()
    while count_dispatch_modes():
        pop_dispatch_mode(None)
    while top_saved_tensors_hooks(False) is not None:
        pop_saved_tensors_hooks()
    if get_frame_evaluation() is not None:
        set_frame_evaluation(None)
    if _is_tracing():  # to end what is not there costs milliseconds
        set_trace(None)
        set_profile(None)


def listeners() -> dict[str, int]:
    """How many of each kind are called while torch works; a default device does not count."""
    foreign = [n for n in range(count_function_modes()) if type(function_mode_at(n)) is not DeviceContext]
    return {
        "torch function modes": len(foreign),
        "torch dispatch modes": count_dispatch_modes(),
        "hooks on saved tensors": top_saved_tensors_hooks(False) is not None,
        "tracing": _is_tracing(),
        "frame evaluation": get_frame_evaluation() is not None,
    }


def interceptions(before: dict[str, int]) -> tuple[list[str], list[str]]:
    """End what a student's function left in torch's way, as it returns and before it can be put back.

    Returns:
        What listens besides the listeners of before, which may be the check file's; what had been replaced.
    """
    now = listeners()
    left = [kind for kind, number in now.items() if number > before[kind]]
    if left:
        _leave_intercepting_modes()
    return left, restore_attributes()


def modes() -> dict[str, Any]:
    """The state that one question's code could change for another, as comparable values."""
    return {
        "grad mode": is_grad_enabled(),
        "default dtype": str(get_default_dtype()),
        "global hooks": sum(map(len, _GLOBAL_HOOKS)),
        "inference mode": is_inference_mode_enabled(),
        "autocast": is_autocast_enabled("cpu"),
        "torch function modes": count_function_modes(),
        "torch dispatch modes": count_dispatch_modes(),
        "hooks on saved tensors": top_saved_tensors_hooks(False) is not None,
        "threads": count_threads(),
        "timer": get_timer(ITIMER_REAL)[0] > 0,
        "tracing": _is_tracing(),
        "garbage collection": is_collecting(),
        **{name: read() for name, (read, _) in _SETTINGS.items()},
    }


# Modes that a cell or a function may enter and never leave.

_KINDS = ("cpu", "cuda")  # of devices; what lasts for another kind reaches no tensor of a request
_dtypes = {kind: get_autocast_dtype(kind) for kind in _KINDS}
_guards: list[Any] = []  # kept alive, because torch's guard restores the previous mode when it is freed


def _restore_lasting_modes() -> None:
    """Put back inference mode, autocast and the collection of garbage."""
    if is_inference_mode_enabled():
        _guards.append(InferenceMode(False))
    for kind in _KINDS:
        if is_autocast_enabled(kind):
            set_autocast_enabled(kind, False)
        if get_autocast_dtype(kind) is not _dtypes[kind]:
            set_autocast_dtype(kind, _dtypes[kind])
    if not is_autocast_cached():
        set_autocast_cached(True)
    # Every region is left, in which the cache would keep weights that were cast before.
    depth = enter_autocast()  # that makes 1 where there was no region; torch counts below zero too
    if depth != 1:
        clear_autocast_cache()
    while depth != 0:
        depth = leave_autocast() if depth > 0 else enter_autocast()
    if not is_collecting():
        enable_collecting()


# Operations that are given another kernel (``torch.library``), which nothing can put back.

_KEYS_OF_THE_CPU = frozenset(
    ("CPU", "AutogradCPU", "Autograd", "CompositeImplicitAutograd", "CompositeExplicitAutograd")
)
_impls = torch.library._impls
_kernels = {*_impls}


def exchanged_kernels() -> list[str]:
    """Operations of torch that were given another kernel."""
    if len(_impls) == len(_kernels):  # to compare two thousand names copies the pages they lie on
        return []
    # For other keys torch itself registers kernels, when vmap or a tensor without memory is first used.
    own = (name for name in _impls - _kernels if name.rpartition("/")[2] in _KEYS_OF_THE_CPU)
    return [f"kernel {name}" for name in own if name.startswith("aten/")]


# The attributes that a request relies on are compared with those before any student's code, and restored:
# the classes of tensors, modules, optimizers and given networks, the attributes of torch's modules and of
# Python's builtins that its code names, and its own words. A function whose code is exchanged raises an event
# (`audit.py`). Deeper parts of torch are not compared: a cell that replaces them must name them.

#: Compared always. Of a class that the code names, its own classes are compared as well.
_CLASSES = (torch.Tensor, nn.Parameter, nn.Module, torch.autograd.Function, torch.optim.Optimizer)
#: Only their attributes that the code names are compared, because comparing all would copy the memory pages
#: of thousands of objects.
_MODULES = (
    *(torch, torch.autograd, torch.autograd.graph, torch.func, torch.optim, torch.utils.checkpoint),
    *(nn, nn.functional, nn.init, nn.utils, builtins, math, warnings),
)
#: Attributes that Python and torch themselves set while running.
_FLUCTUATING = {"__abstractmethods__", "_", "Storage"}
_MISSING = object()


class _Attributes:
    """Attributes of a class or a module, all or some, and the values that they have to have."""

    def __init__(self, owner: Any, values: dict[str, Any] | None = None) -> None:
        # The dictionary itself, of which `vars` of a class only gives a slower proxy.
        self.current = gc.get_referents(vars(owner))[0] if isinstance(owner, type) else vars(owner)
        self.owner, self.values = owner, dict(self.current) if values is None else values

    def restore(self) -> list[str]:
        """Put back what was replaced or removed, and remove what hides an inherited attribute.

        What a class or a module merely remembers (a number, a text) is its own affair.

        Returns:
            The names of what was changed.
        """
        owner, values, current = self.owner, self.values, self.current
        is_class = isinstance(owner, type)
        other = [name for name, value in values.items() if current.get(name, _MISSING) is not value]
        changed = [n for n in other if _acts(n, values[n]) or _acts(n, current.get(n, _MISSING))]
        added = [n for n in current if n not in values and _acts(n, current[n])] if is_class else []
        hiding = [name for name in added if any(name in vars(base) for base in owner.__mro__[1:])]
        place: Any = type if is_class else types.ModuleType
        for name in changed:
            place.__setattr__(owner, name, values[name])
        for name in hiding:
            place.__delattr__(owner, name)
        called = f"{owner.__module__}.{owner.__qualname__}" if is_class else owner.__name__
        return [f"{called}.{name}" for name in (*changed, *hiding)]


def _acts(name: str, value: Any) -> bool:
    """Whether an attribute can be called or asked for another, and is none that Python and torch set."""
    acts = callable(value) or hasattr(type(value), "__get__") or isinstance(value, types.ModuleType)
    acts = acts or name.startswith("_global_")  # a registry of hooks
    return acts and name not in _FLUCTUATING


class _ManyAttributes:
    """The attributes of several classes and modules, compared in one pass."""

    def __init__(self, several: Iterable[_Attributes] = ()) -> None:
        self._several = [*several]
        self._names = [name for each in self._several for name in each.values]
        self._values = [value for each in self._several for value in each.values.values()]
        self._places = [each.current for each in self._several for _ in each.values]
        classes = [each for each in self._several if isinstance(each.owner, type)]
        self._classes = [each.current for each in classes]
        self._sizes = [len(each.values) for each in classes]

    def restore(self) -> list[str]:
        """Restore changed attributes; returns their names."""
        are_same = all(map(is_, map(dict.get, self._places, self._names, repeat(_MISSING)), self._values))
        if are_same and [*map(len, self._classes)] == self._sizes:
            return []
        return [name for attributes in self._several for name in attributes.restore()]


_modules: list[_Attributes] = []
_classes: dict[type, _Attributes] = {}  # all that torch's modules offer
_relied_on = {"always": _ManyAttributes(), "of the request": _ManyAttributes()}


def capture_attributes(handed_over: Iterable[type]) -> None:
    """In the zygote, once everything is imported and before any student's code.

    Args:
        handed_over: our own classes of what a student's function is given.
    """
    _modules[:] = map(_Attributes, _MODULES)
    audit.watch_modules(_MODULES)
    audit.keep_libraries()
    offered = [value for module in _modules for value in module.values.values() if isinstance(value, type)]
    for kind in (base for value in (*_CLASSES, *offered) for base in value.__mro__):
        if kind.__module__.startswith("torch") and kind.__flags__ & _CAN_CHANGE == _HEAP_TYPE:
            _classes.setdefault(kind, _Attributes(kind))
    always = (
        *(_classes[kind] for kind in _CLASSES),
        *map(_Attributes, (audit.WatchedModule, *handed_over)),
        *(_Attributes(module, registries) for module, registries in _REGISTRIES),
    )
    _relied_on["always"] = _ManyAttributes(always)


#: Of the flags of a class: it is none of C's own, so that Python lets its attributes be written.
_HEAP_TYPE, _CAN_CHANGE = 1 << 9, 1 << 9 | 1 << 8


def capture_request(code: types.CodeType, words: types.ModuleType) -> None:
    """Also watch the objects of the next request: those that its code names, its words, and their classes."""
    names = set(_names_in(code))
    named = []
    for module in _modules:
        values = {name: module.values[name] for name in sorted(names & module.values.keys())}
        named += [_Attributes(module.owner, values)] if values else []
    offered = (value for module in named for value in module.values.values() if isinstance(value, type))
    bases = dict.fromkeys(base for value in offered for base in value.__mro__)
    kinds = [base for base in bases if base in _classes and base not in _CLASSES]
    own = [v for v in vars(words).values() if isinstance(v, type) and v.__module__ == words.__name__]
    its_own = (_Attributes(words), *map(_Attributes, own))
    _relied_on["of the request"] = _ManyAttributes((*named, *(_classes[kind] for kind in kinds), *its_own))


def _names_in(code: types.CodeType) -> Iterator[str]:
    """The names that code uses, with all that is defined in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)


def restore_attributes() -> list[str]:
    """Restore the changed ones of these attributes; returns their names."""
    functions = audit.put_back_functions()
    return functions + [name for attributes in _relied_on.values() for name in attributes.restore()]
