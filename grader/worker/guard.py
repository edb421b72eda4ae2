"""Inside: keeps one question's code from reaching another's through torch's own state.

Before every probe the modes a student's code may have left changed are put back; after it, torch's
own attributes are compared with what they were before any student's code.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

import torch
import torch.nn.modules.module as module_hooks
from torch import nn

#: Classes whose attributes decide what a probe does; whatever is added to them counts too.
_CLASSES: tuple[type, ...] = (
    torch.Tensor,
    nn.Parameter,
    nn.Module,
    nn.Linear,
    nn.RNNCell,
    torch.autograd.Function,
    torch.optim.Optimizer,
    torch.optim.SGD,
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
    __import__("builtins"),
)
_GLOBAL_HOOKS = (
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
)

_captured: list[tuple[Any, dict[str, Any]]] = [(owner, dict(vars(owner))) for owner in (*_CLASSES, *_MODULES)]
_float32 = torch.float32
_set_grad, _is_grad = torch._C._set_grad_enabled, torch.is_grad_enabled
_set_dtype, _get_dtype = torch.set_default_dtype, torch.get_default_dtype
_set_anomaly, _is_anomaly = torch.autograd.set_detect_anomaly, torch.is_anomaly_enabled
_set_deterministic = torch.use_deterministic_algorithms
_is_deterministic = torch.are_deterministic_algorithms_enabled
_enumerate_threads = threading.enumerate


def _name(owner: Any) -> str:
    return f"{owner.__module__}.{owner.__qualname__}" if isinstance(owner, type) else owner.__name__


def restore_modes() -> None:
    """Put grad mode, default dtype, deterministic and anomaly mode, warning filters and global hooks back."""
    _set_grad(True)
    if _get_dtype() is not _float32:
        _set_dtype(_float32)
    if _is_anomaly():
        _set_anomaly(False)
    if _is_deterministic():
        _set_deterministic(False)
    for hooks in _GLOBAL_HOOKS:
        vars(module_hooks)[hooks].clear()
    warnings.resetwarnings()
    warnings.simplefilter("ignore")


def modes() -> dict[str, Any]:
    """Everything ``restore_modes`` puts back and the number of threads, as comparable values."""
    return {
        "grad mode": _is_grad(),
        "default dtype": str(_get_dtype()),
        "anomaly mode": _is_anomaly(),
        "deterministic algorithms": _is_deterministic(),
        "global module hooks": sum(len(vars(module_hooks)[hooks]) for hooks in _GLOBAL_HOOKS),
        "threads": len(_enumerate_threads()),
    }


def changed_modes(before: dict[str, Any]) -> list[str]:
    """Names of the modes that are not what they were."""
    now = modes()
    return [name for name, value in before.items() if now[name] != value]


def restore_attributes() -> list[str]:
    """Put back every attribute of torch that was replaced, removed, or put over an inherited one.

    Returns:
        What had been changed, such as ``torch.Tensor.backward``.
    """
    changed = []
    for owner, original in _captured:
        current = vars(owner)
        for name, value in original.items():
            if current.get(name) is not value and name not in _FLUCTUATING:
                setattr(owner, name, value)
                changed.append(f"{_name(owner)}.{name}")
        if isinstance(owner, type):
            for name in [name for name in current if name not in original and _shadows(owner, name)]:
                delattr(owner, name)
                changed.append(f"{_name(owner)}.{name}")
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
}


def _shadows(owner: type, name: str) -> bool:
    """Whether an added attribute hides an inherited one; a helper method of the student's does not."""
    return any(name in vars(base) for base in owner.__mro__[1:])
