"""Inside: imports ``torch._dynamo``, torch's compiler, not before something is to be compiled.

Every step of an optimizer, every checkpoint and ``torch.func.grad`` ask ``torch._dynamo`` to keep the
compiler away. For that alone torch would import the compiler, which takes a second and makes every fork
slower. Where nothing is compiled there is nothing to keep away, so a lazy module answers these questions by
doing nothing. Whatever else is asked of it loads the real package into the same module, as if it had been
imported just then. (``importlib.util.LazyLoader`` would load it for these questions, too.)
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

_NAME = "torch._dynamo"
_SETTINGS = f"{_NAME}.config"
_MARK = "__dynamo_disable"  # where torch keeps what `disable` gave it for one of its functions
_marked: list[Any] = []  # the functions that hold our answer there


class _LazyDynamo(types.ModuleType):
    """The package before anything of it ran, but for its settings, which torch reads without compiling."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":  # asked by those who look through all modules
            raise AttributeError(name)
        _load()
        return getattr(self, name)


class _CompiledAutograd:
    """The part that compiles backward passes, which ``torch.func.grad`` switches off."""

    _disable = staticmethod(contextlib.nullcontext)

    def __getattr__(self, name: str) -> Any:
        return getattr(_load().compiled_autograd, name)


def install() -> None:
    """Put the lazy module where torch looks for the package; nothing happens where that is imported."""
    spec = importlib.util.find_spec(_NAME)
    if _NAME in sys.modules or spec is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    try:
        importlib.import_module(_SETTINGS)  # which puts them into the module
    except Exception:  # another release of torch, whose settings want the whole package
        del sys.modules[_NAME]
        return
    vars(torch)["_dynamo"] = module
    _make_lazy(module)
    if torch.manual_seed is torch.random.manual_seed:
        # The package does the same unless it is done: from within a notebook it would look like a patch.
        vars(torch)["manual_seed"] = _disable_dynamo(torch.manual_seed)
        torch.jit._builtins._register_builtin(torch.manual_seed, "aten::manual_seed")


def _make_lazy(module: types.ModuleType) -> None:
    """To import any part of it loads the whole, for the parts need each other in one order."""
    del sys.modules[_SETTINGS], module.__path__
    vars(module).update(_OFFERED)
    module.__class__ = _LazyDynamo


def _graph_break(msg: str = "") -> None:
    """Where a compiled graph would end."""


def _disable(function: Any = None, recursive: bool = True, **options: Any) -> Any:
    """The function itself where torch asks for one of its own; anybody else asks the real package."""
    if isinstance(function, types.FunctionType) and function.__module__.startswith("torch."):
        _marked.append(function)
        return function
    return _load().disable(function, recursive, **options)


_OFFERED = {"disable": _disable, "graph_break": _graph_break, "compiled_autograd": _CompiledAutograd()}


def _load() -> types.ModuleType:
    """The real package; where it cannot be loaded, the next question tries it again."""
    module = sys.modules[_NAME]
    if isinstance(module, _LazyDynamo):
        try:
            _execute(module)
        except BaseException:
            _make_lazy(module)
            raise
    return module


def _execute(module: types.ModuleType) -> None:
    """What an import would have done, in a module that is not lazy any more: its parts ask for each other."""
    spec: Any = module.__spec__
    module.__class__ = types.ModuleType
    for name in _OFFERED:
        vars(module).pop(name, None)
    vars(module)["__path__"] = spec.submodule_search_locations
    sys.modules[_SETTINGS] = vars(module)["config"]
    spec.loader.exec_module(module)
    for function in _marked:
        vars(function).pop(_MARK, None)
    _marked.clear()
