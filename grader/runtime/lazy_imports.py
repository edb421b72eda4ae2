"""Keeps torch from importing its compiler and its symbolic shapes without using them.

Every step of an optimizer, every checkpoint and ``torch.func.grad`` ask ``torch._dynamo`` to keep the
compiler away, and every backward from a vector asks ``torch.fx.experimental.symbolic_shapes`` whether its
gradient has the right shape. For that alone torch would import 800 modules, which takes as much processor
time as torch itself and 70 MB. So small modules answer these questions. For anything else they import the
real one, which takes their place. (``importlib.util.LazyLoader`` would do so at any question.)
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import types
from typing import Any

import torch
from torch._compile import _disable_dynamo

from .opaque import opaque, sealed
from .originals import Size, builtins_copy

__builtins__ = builtins_copy()

_DYNAMO = "torch._dynamo"
_SHAPES = "torch.fx.experimental.symbolic_shapes"


@sealed
class _LazyModule(types.ModuleType):
    """Stands where a module would, and answers a few questions itself."""

    def __getattr__(self, name: str) -> Any:
        is_package = self.__name__ == _DYNAMO and name == "__path__"
        if name.startswith("__") and not is_package:  # asked by those who look through all modules
            raise AttributeError(name)
        return getattr(_real(self.__name__), name)


def _real(name: str) -> types.ModuleType:
    """The real module; where it cannot be imported, the next question tries again."""
    lazy = sys.modules.get(name)
    if lazy is not None and not isinstance(lazy, _LazyModule):
        return lazy
    sys.modules.pop(name, None)
    try:
        return importlib.import_module(name)
    finally:
        if lazy is not None:
            sys.modules.setdefault(name, lazy)


def _disable(function: Any = None, recursive: bool = True, **options: Any) -> Any:
    """The function itself if it is torch's own; for any other the real package is asked."""
    if isinstance(function, types.FunctionType) and function.__module__.startswith("torch."):
        return function
    return _real(_DYNAMO).disable(function, recursive, **options)


def _graph_break(msg: str = "") -> None:
    """Do nothing: a compiled graph would end here."""


def _sym_eq(x: Any, y: Any) -> Any:
    """Whether two shapes are equal; if there is a symbol in them, the real module answers."""
    is_plain = type(x) is type(y) is Size and {*map(type, (*x, *y))} <= {int}
    return x == y if is_plain else _real(_SHAPES).sym_eq(x, y)


def _expect_true(a: Any, skip: int = 0) -> Any:
    """A bool as it is; for a symbol the real module answers."""
    return a if type(a) is bool else _real(_SHAPES).expect_true(a, skip + 1)


def _lazy(name: str, **answers: Any) -> types.ModuleType:
    module = _LazyModule(name)
    vars(module).update(answers)
    return module


def install() -> None:
    """Put lazy modules where torch looks for its compiler and symbolic shapes, unless they are imported."""
    compiler = _lazy(
        _DYNAMO,
        disable=opaque(_disable),
        graph_break=opaque(_graph_break),
        config=_lazy(f"{_DYNAMO}.config", error_on_nested_fx_trace=True),
        compiled_autograd=_lazy(f"{_DYNAMO}.compiled_autograd", _disable=contextlib.nullcontext),
    )
    shapes = _lazy(_SHAPES, sym_eq=opaque(_sym_eq), expect_true=opaque(_expect_true))
    for module in (compiler, shapes):
        name = module.__name__
        spec = None if name in sys.modules else importlib.util.find_spec(name)
        if spec:
            module.__spec__ = spec
            package, _, part = name.rpartition(".")
            sys.modules[name] = vars(sys.modules[package])[part] = module
    if torch.manual_seed is torch.random.manual_seed:
        # The package does the same unless it is done: from within a notebook it would look like a patch.
        vars(torch)["manual_seed"] = _disable_dynamo(torch.manual_seed)
        torch.jit._builtins._register_builtin(torch.manual_seed, "aten::manual_seed")
