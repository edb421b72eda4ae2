"""Imports torch's compiler and its symbolic shapes only when they are needed.

Every step of an optimizer, every checkpoint and ``torch.func.grad`` ask ``torch._dynamo`` to keep the
compiler away. For that alone torch would import the compiler, which takes a second and makes every fork
slower. Where nothing is compiled a lazy module answers these questions by doing nothing. Whatever else is
asked of it loads the real package into the same module, as if it had been imported just then.
(``importlib.util.LazyLoader`` would load it for these questions, too.)

Every vector that goes back asks ``torch.fx.experimental.symbolic_shapes`` whether its gradient has the right
shape. For that alone torch would import 480 modules, sympy among them, in 0.4 s and 35 MB. Of sizes that are
plain numbers the lazy module answers itself.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import importlib.util
import sys
import types
from typing import Any

import torch
from torch._compile import _disable_dynamo

from .opaque import opaque, sealed

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_DYNAMO = "torch._dynamo"
_SETTINGS = f"{_DYNAMO}.config"
_PACKAGE, _PART = "torch.fx.experimental", "symbolic_shapes"
_SHAPES = f"{_PACKAGE}.{_PART}"
_MARK = "__dynamo_disable"  # where torch keeps what `disable` gave it for one of its functions
_marked: list[Any] = []  # the functions that hold our answer there
_type, _Size, _bool = type, torch.Size, bool


@sealed
class _LazyModule(types.ModuleType):
    """A module before anything of it ran; the compiler's has its settings, which torch reads anyway."""

    def __getattr__(self, name: str) -> Any:
        own = "__path__" if self.__name__ == _DYNAMO else ""
        if name.startswith("__") and name != own:  # asked by those who look through all modules
            raise AttributeError(name)
        return getattr(_load(self.__name__), name)


@sealed
class _CompiledAutograd:
    """The part that compiles backward passes, which ``torch.func.grad`` switches off."""

    _disable = staticmethod(contextlib.nullcontext)

    def __getattr__(self, name: str) -> Any:
        return getattr(_load(_DYNAMO).compiled_autograd, name)


def _graph_break(msg: str = "") -> None:
    """Where a compiled graph would end."""


def _disable(function: Any = None, recursive: bool = True, **options: Any) -> Any:
    """The function itself where it is torch's own; for any other the real package is asked."""
    if isinstance(function, types.FunctionType) and function.__module__.startswith("torch."):
        _marked.append(function)
        return function
    return _load(_DYNAMO).disable(function, recursive, **options)


def _sym_eq(x: Any, y: Any) -> Any:
    """Whether two shapes are equal; where there is a symbol in them, the real module answers."""
    is_plain = _type(x) is _type(y) is _Size and {*map(_type, (*x, *y))} <= {int}
    return x == y if is_plain else _load(_SHAPES).sym_eq(x, y)


def _expect_true(a: Any, skip: int = 0) -> Any:
    """What is a bool already; for a symbol the real module answers."""
    return a if _type(a) is _bool else _load(_SHAPES).expect_true(a, skip + 1)


#: What the lazy modules answer themselves.
_OFFERED: dict[str, dict[str, Any]] = {
    _DYNAMO: {
        "disable": opaque(_disable),
        "graph_break": opaque(_graph_break),
        "compiled_autograd": _CompiledAutograd(),
    },
    _SHAPES: {"sym_eq": opaque(_sym_eq), "expect_true": opaque(_expect_true)},
}


def install() -> None:
    """Put lazy modules where torch looks for its compiler and symbolic shapes, unless they are imported."""
    _install_dynamo()
    shapes = _new_module(_SHAPES)
    if shapes is not None:
        _make_lazy(shapes)
        sys.modules[_SHAPES] = vars(sys.modules[_PACKAGE])[_PART] = shapes


def _new_module(name: str) -> types.ModuleType | None:
    """A module that has not been executed; None where it is imported, or torch has none."""
    spec = importlib.util.find_spec(name)
    return None if name in sys.modules or spec is None else importlib.util.module_from_spec(spec)


def _install_dynamo() -> None:
    module = _new_module(_DYNAMO)
    if module is None:
        return
    sys.modules[_DYNAMO] = module
    try:
        importlib.import_module(_SETTINGS)  # which puts them into the module
    except Exception:  # another release of torch, whose settings want the whole package
        del sys.modules[_DYNAMO]
        return
    vars(torch)["_dynamo"] = module
    _make_lazy(module)
    if torch.manual_seed is torch.random.manual_seed:
        # The package does the same unless it is done: from within a notebook it would look like a patch.
        vars(torch)["manual_seed"] = _disable_dynamo(torch.manual_seed)
        torch.jit._builtins._register_builtin(torch.manual_seed, "aten::manual_seed")


def _make_lazy(module: types.ModuleType) -> None:
    if module.__name__ == _DYNAMO:
        # To import a part of it loads the whole, for the parts need each other in a certain order.
        del sys.modules[_SETTINGS], module.__path__
    vars(module).update(_OFFERED[module.__name__])
    module.__class__ = _LazyModule


def _load(name: str) -> Any:
    """The real module; where it cannot be loaded, the next question tries it again."""
    module = sys.modules[name]
    if isinstance(module, _LazyModule):
        try:
            _execute(module)
        except BaseException:
            _make_lazy(module)
            raise
    return module


def _execute(module: types.ModuleType) -> None:
    """What an import would have done; the module is lazy no more, for its parts ask for each other."""
    spec: Any = module.__spec__
    module.__class__ = types.ModuleType
    for name in _OFFERED[module.__name__]:
        vars(module).pop(name, None)
    if module.__name__ == _DYNAMO:
        vars(module)["__path__"] = spec.submodule_search_locations
        sys.modules[_SETTINGS] = vars(module)["config"]
    spec.loader.exec_module(module)
    if module.__name__ == _DYNAMO:
        for function in _marked:
            vars(function).pop(_MARK, None)
        _marked.clear()
