"""Inside: keeps one question's code from reaching another's through torch's own state.

Before every probe the modes a student's code may have left changed are put back; after it, torch's
own attributes are compared with what they were before any student's code.
"""

from __future__ import annotations

import _thread
import builtins
import functools
import gc
import inspect
import math
import random
import signal
import sys
import types
import warnings
import weakref
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.utils._device import DeviceContext

from . import audit, lasting
from .namespace import MISSING, Namespace

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

#: Classes whose attributes decide what a probe does; whatever is added to them counts too.
_CLASSES: tuple[type, ...] = (
    torch.Tensor,
    torch.UntypedStorage,
    nn.Parameter,
    nn.Module,
    nn.Linear,
    nn.RNNCell,
    torch.autograd.Function,
    torch.optim.Optimizer,
    torch.optim.SGD,
)
#: All other modules of torch, which a probe may use; these are looked at once for every probe. (Not the
#: other optimizers: torch wraps their ``step`` itself when the first of a kind is made.)
_MORE_CLASSES: tuple[type, ...] = tuple(
    kind for kind in vars(nn).values() if isinstance(kind, type) and kind not in _CLASSES
)
#: Modules whose captured names must stay; torch itself adds names lazily, so additions do not count.
_MODULES: tuple[Any, ...] = (
    torch,
    torch.autograd,
    torch.autograd.graph,
    nn,
    nn.functional,
    nn.init,
    torch.optim,
    builtins,
    functools,
    inspect,
    math,
    random,
    weakref,
)
#: The registries themselves, of hooks that every module or every optimizer calls.
_GLOBAL_HOOKS: tuple[dict[Any, Any], ...] = tuple(
    registry
    for owner in (nn.Module, torch.optim.Optimizer)
    for name, registry in vars(sys.modules[owner.__module__]).items()
    if name.startswith("_global_") and isinstance(registry, dict)
)

_captured = [Namespace(owner) for owner in (*_CLASSES, *_MODULES)]
#: ``warnings`` is among these, because a probe that listens to it changes it itself.
_captured_too = [Namespace(owner) for owner in (*_MORE_CLASSES, warnings)]
#: The Python functions among them, whose code can be exchanged while they stay the same objects.
_functions: dict[types.FunctionType, str] = {
    value: f"{namespace.owner.__name__}.{name}"
    for namespace in (*_captured, *_captured_too)
    for name, value in namespace.original.items()
    if type(value) is types.FunctionType
}
_code = types.FunctionType.__dict__["__code__"]
_codes = [_code.__get__(function) for function in _functions]
_KEYS_OF_THE_CPU = {
    "CPU",
    "AutogradCPU",
    "Autograd",
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
}
_impls = torch.library._impls
_kernels = frozenset(_impls)
_float32 = torch.float32
_set_grad, _is_grad = torch._C._set_grad_enabled, torch.is_grad_enabled
_set_dtype, _get_dtype = torch.set_default_dtype, torch.get_default_dtype
_set_anomaly, _is_anomaly = torch.autograd.set_detect_anomaly, torch.is_anomaly_enabled
_set_deterministic = torch.use_deterministic_algorithms
_is_deterministic = torch.are_deterministic_algorithms_enabled
_is_inference, _is_autocast = torch.is_inference_mode_enabled, torch.is_autocast_enabled
_function_modes, _dispatch_modes = torch._C._len_torch_function_stack, torch._C._len_torch_dispatch_stack
_set_device = torch.set_default_device
_function_mode_at = torch._C._get_function_stack_at
_pop_function_mode, _pop_dispatch_mode = (
    torch._C._pop_torch_function_stack,
    torch._C._pop_torch_dispatch_stack,
)
_saved_tensors_hooks = torch._C._autograd._top_saved_tensors_default_hooks
_pop_saved_tensors_hooks = torch._C._autograd._pop_saved_tensors_default_hooks
_count_threads, _is_collecting = _thread._count, gc.isenabled
_set_timer, _get_timer, _timer = signal.setitimer, signal.getitimer, signal.ITIMER_REAL
_get_trace, _get_profile, _get_recursion_limit = sys.gettrace, sys.getprofile, sys.getrecursionlimit
_set_trace, _set_profile = sys.settrace, sys.setprofile


def _name(owner: Any) -> str:
    return f"{owner.__module__}.{owner.__qualname__}" if isinstance(owner, type) else owner.__name__


def restore_modes() -> None:
    """Put back grad mode, default dtype, other modes of torch, warnings, global hooks and the timer."""
    _set_timer(_timer, 0)  # an alarm would go off in somebody else's probe
    _leave_intercepting_modes()
    lasting.put_back()
    _set_grad(True)
    if _get_dtype() is not _float32:
        _set_dtype(_float32)
    if _is_anomaly():
        _set_anomaly(False)
    if _is_deterministic():
        _set_deterministic(False)
    for hooks in _GLOBAL_HOOKS:
        hooks.clear()
    warnings.resetwarnings()
    warnings.simplefilter("ignore")


def intercepting_modes() -> list[str]:
    """Kinds of modes that are called in the place of torch's functions and could answer for them.

    The default device is such a mode too, a harmless one; it is put back.
    """
    if _function_modes():
        _set_device(None)
    found = {"torch function modes": _function_modes(), "torch dispatch modes": _dispatch_modes()}
    return [kind for kind, number in found.items() if number]


def _is_tracing() -> bool:
    return _get_trace() is not None or _get_profile() is not None


def _leave_intercepting_modes() -> None:
    intercepting_modes()
    while _function_modes():
        _pop_function_mode()
    while _dispatch_modes():
        _pop_dispatch_mode(None)
    while _saved_tensors_hooks(False) is not None:
        _pop_saved_tensors_hooks()
    if _is_tracing():  # to end what is not there costs milliseconds
        _set_trace(None)
        _set_profile(None)


def exchanged_kernels() -> list[str]:
    """Operations of torch that were given another kernel (``torch.library``), which nothing can put back."""
    if len(_impls) == len(_kernels):  # to compare two thousand names copies the pages they lie on
        return []
    return [f"kernel {name}" for name in _impls - _kernels if _is_of_torch(name)]


def _is_of_torch(kernel: str) -> bool:
    # For the other keys torch itself registers kernels, when vmap or a tensor without memory is first used.
    return kernel.startswith("aten/") and kernel.rpartition("/")[2] in _KEYS_OF_THE_CPU


def listeners() -> dict[str, int]:
    """How many of what is called while torch works are in force; a default device is not meant."""
    foreign = [n for n in range(_function_modes()) if type(_function_mode_at(n)) is not DeviceContext]
    return {
        "torch function modes": len(foreign),
        "torch dispatch modes": _dispatch_modes(),
        "hooks on saved tensors": _saved_tensors_hooks(False) is not None,
        "tracing": _is_tracing(),
    }


def interceptions(before: dict[str, int]) -> tuple[list[str], list[str]]:
    """End what a student's function left in torch's way, as soon as it returns and before it can heal.

    Args:
        before: the listeners before it was called; a probe may have some of its own.

    Returns:
        What was left listening, and what had been replaced.
    """
    now = listeners()
    left = [kind for kind, number in now.items() if number > before[kind]]
    if left:
        _leave_intercepting_modes()
    return left, _restore(_captured)


def modes() -> dict[str, Any]:
    """Whatever one question's code could leave behind for another's to stumble over, as comparable values."""
    return {
        "grad mode": _is_grad(),
        "default dtype": str(_get_dtype()),
        "anomaly mode": _is_anomaly(),
        "deterministic algorithms": _is_deterministic(),
        "global hooks": sum(map(len, _GLOBAL_HOOKS)),
        "inference mode": _is_inference(),
        "autocast": _is_autocast("cpu"),
        "torch function modes": _function_modes(),
        "torch dispatch modes": _dispatch_modes(),
        "hooks on saved tensors": _saved_tensors_hooks(False) is not None,
        "threads": _count_threads(),
        "timer": _get_timer(_timer)[0] > 0,
        "tracing": _is_tracing(),
        "recursion limit": _get_recursion_limit(),
        "garbage collection": _is_collecting(),
    }


def threads() -> int:
    """How many threads there are besides the first: what one question leaves running may reach another."""
    return _count_threads()


def restore_attributes() -> list[str]:
    """Put back every attribute of torch that was replaced, removed, or put over an inherited one.

    Returns:
        What had been changed, such as ``torch.Tensor.backward``.
    """
    return _restore([*_captured, *_captured_too])


def _restore(captured: Iterable[Namespace]) -> list[str]:
    changed = _restore_codes()
    for namespace in captured:
        if namespace.was_written():
            writes = namespace.writes()  # before the comparison: what is written during it is looked at again
            found = _put_back(namespace) + _take_away(namespace)
            if not found:
                namespace.settle(writes)
            changed += found
    return changed


def _put_back(namespace: Namespace) -> list[str]:
    """Give replaced and removed attributes their value again; returns their names."""
    if namespace.is_complete():
        return []
    changed = []
    owner, current = namespace.owner, vars(namespace.owner)
    for name, value in namespace.original.items():
        if current.get(name, MISSING) is not value and name not in _FLUCTUATING:
            setattr(owner, name, value)
            changed.append(f"{_name(owner)}.{name}")
    return changed


def _take_away(namespace: Namespace) -> list[str]:
    """Remove attributes of a class that hide inherited ones; returns their names."""
    owner, current = namespace.owner, vars(namespace.owner)
    if not isinstance(owner, type):
        return []
    added = [name for name in current if name not in namespace.original and name not in _FLUCTUATING]
    hiding = [name for name in added if _shadows(owner, name)]
    for name in hiding:
        delattr(owner, name)
    return [f"{_name(owner)}.{name}" for name in hiding]


def _restore_codes() -> list[str]:
    """Put back the code of torch's functions; returns the names of those that had been given another."""
    if not audit.code_was_set():
        return []
    changed = []
    for (function, name), code in zip(_functions.items(), _codes, strict=True):
        if _code.__get__(function) is not code:
            _code.__set__(function, code)
            changed.append(f"{name}.__code__")
    return changed


#: What Python and torch themselves set while running.
_FLUCTUATING = {
    "__dict__",
    "__weakref__",
    "__doc__",
    "__builtins__",
    "_",
    "__annotations__",
    "__abstractmethods__",
    "_filters_version",  # warnings counts its filters
    "__slotnames__",  # what copyreg finds out about a class that is copied or stored
    *("__spec__", "__loader__", "__file__"),  # of a module that is loaded again
    "Storage",  # torch's own name of the class that goes with the default dtype
}


def _shadows(owner: type, name: str) -> bool:
    """Whether an added attribute hides an inherited one; a helper method of the student's does not."""
    return any(name in vars(base) for base in owner.__mro__[1:])
