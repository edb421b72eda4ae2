"""Imports torch's compiler and its symbolic shapes only when they are needed.

Every step of an optimizer, every checkpoint and ``torch.func.grad`` ask ``torch._dynamo`` to keep the
compiler away. For that alone torch would import the compiler, which takes a second and makes every fork
slower. Where nothing is compiled a lazy module answers these questions by doing nothing. Whatever else is
asked of it loads the real package into the same module, as if it had been imported just then.
(``importlib.util.LazyLoader`` would load it for these questions, too.)
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import importlib.util
import sys
import types
from collections.abc import Callable
from typing import Any

import torch
from torch._compile import _disable_dynamo

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_DYNAMO = "torch._dynamo"
_SETTINGS = f"{_DYNAMO}.config"
_MARK = "__dynamo_disable"  # where torch keeps what `disable` gave it for one of its functions
_marked: list[Any] = []  # the functions that hold our answer there
_Step = Callable[[types.ModuleType], None]


class _LazyDynamo(types.ModuleType):
    """The package with nothing but its settings, which torch reads without compiling."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":  # asked by those who look through all modules
            raise AttributeError(name)
        _load_dynamo()
        return getattr(self, name)


class _CompiledAutograd:
    """The part that compiles backward passes, which ``torch.func.grad`` switches off."""

    _disable = staticmethod(contextlib.nullcontext)

    def __getattr__(self, name: str) -> Any:
        return getattr(_load_dynamo().compiled_autograd, name)


def _install_dynamo() -> None:
    """Put the lazy module where torch looks for the package; nothing happens where that is imported."""
    spec = importlib.util.find_spec(_DYNAMO)
    if _DYNAMO in sys.modules or spec is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[_DYNAMO] = module
    try:
        importlib.import_module(_SETTINGS)  # which puts them into the module
    except Exception:  # another release of torch, whose settings want the whole package
        del sys.modules[_DYNAMO]
        return
    vars(torch)["_dynamo"] = module
    _make_dynamo_lazy(module)
    if torch.manual_seed is torch.random.manual_seed:
        # The package does the same unless it is done: from within a notebook it would look like a patch.
        vars(torch)["manual_seed"] = _disable_dynamo(torch.manual_seed)
        torch.jit._builtins._register_builtin(torch.manual_seed, "aten::manual_seed")


def _make_dynamo_lazy(module: types.ModuleType) -> None:
    """To import a part of it loads the whole, for the parts need each other in a certain order."""
    del sys.modules[_SETTINGS], module.__path__
    vars(module).update(_DYNAMO_OFFERED)
    module.__class__ = _LazyDynamo


def _graph_break(msg: str = "") -> None:
    """Where a compiled graph would end."""


def _disable(function: Any = None, recursive: bool = True, **options: Any) -> Any:
    """The function itself where it is torch's own; for any other the real package is asked."""
    if isinstance(function, types.FunctionType) and function.__module__.startswith("torch."):
        _marked.append(function)
        return function
    return _load_dynamo().disable(function, recursive, **options)


_DYNAMO_OFFERED = {"disable": _disable, "graph_break": _graph_break, "compiled_autograd": _CompiledAutograd()}


def _load_dynamo() -> Any:
    return _loaded(_DYNAMO, _execute_dynamo, _make_dynamo_lazy)


def _loaded(name: str, execute: _Step, make_lazy: _Step) -> Any:
    """The real module; where it cannot be loaded, the next question tries it again."""
    module = sys.modules[name]
    if isinstance(module, _LazyDynamo | _LazyShapes):
        try:
            execute(module)
        except BaseException:
            make_lazy(module)
            raise
    return module


def _execute_dynamo(module: types.ModuleType) -> None:
    """What an import would have done; the module is lazy no more, for its parts ask for each other."""
    spec: Any = module.__spec__
    module.__class__ = types.ModuleType
    for name in _DYNAMO_OFFERED:
        vars(module).pop(name, None)
    vars(module)["__path__"] = spec.submodule_search_locations
    sys.modules[_SETTINGS] = vars(module)["config"]
    spec.loader.exec_module(module)
    for function in _marked:
        vars(function).pop(_MARK, None)
    _marked.clear()


# ``torch.fx.experimental.symbolic_shapes``, and sympy with it, is not imported before a size is a symbol.
# Every vector that goes back asks it whether its gradient has the right shape. For that alone torch would
# import 480 modules, in 0.4 s and 35 MB; of sizes that are plain numbers the lazy module answers itself.

_PACKAGE, _PART = "torch.fx.experimental", "symbolic_shapes"
_SHAPES = f"{_PACKAGE}.{_PART}"
_type, _Size, _bool = type, torch.Size, bool


class _LazyShapes(types.ModuleType):
    """The module before anything of it ran."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by those who look through all modules
            raise AttributeError(name)
        return getattr(_load_shapes(), name)


def install() -> None:
    """Put lazy modules where torch looks for its compiler and its symbolic shapes."""
    _install_dynamo()
    _install_shapes()


def _install_shapes() -> None:
    """Put the lazy module where torch looks for the real module; nothing happens where that is imported."""
    spec = importlib.util.find_spec(_SHAPES)
    if _SHAPES in sys.modules or spec is None:
        return
    module = importlib.util.module_from_spec(spec)
    _make_shapes_lazy(module)
    sys.modules[_SHAPES] = vars(sys.modules[_PACKAGE])[_PART] = module


def _make_shapes_lazy(module: types.ModuleType) -> None:
    vars(module).update(_SHAPES_OFFERED)
    module.__class__ = _LazyShapes


def _sym_eq(x: Any, y: Any) -> Any:
    """Whether two shapes are equal; where there is a symbol in them, the real module answers."""
    is_plain = _type(x) is _type(y) is _Size and {*map(_type, (*x, *y))} <= {int}
    return x == y if is_plain else _load_shapes().sym_eq(x, y)


def _expect_true(a: Any, skip: int = 0) -> Any:
    """What is a bool already; for a symbol the real module answers."""
    return a if _type(a) is _bool else _load_shapes().expect_true(a, skip + 1)


_SHAPES_OFFERED = {"sym_eq": _sym_eq, "expect_true": _expect_true}


def _load_shapes() -> Any:
    return _loaded(_SHAPES, _execute_shapes, _make_shapes_lazy)


def _execute_shapes(module: Any) -> None:
    module.__class__ = types.ModuleType
    for name in _SHAPES_OFFERED:
        vars(module).pop(name, None)
    module.__spec__.loader.exec_module(module)
