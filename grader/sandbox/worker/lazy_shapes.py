"""Inside: imports torch's symbolic shapes, and sympy with them, not before a size is a symbol.

Every vector that goes back asks ``torch.fx.experimental.symbolic_shapes`` whether its gradient has the right
shape. For that alone torch would import 480 modules, which takes 0.4 s and 35 MB. Of sizes that are plain
numbers a lazy module answers by itself. Whatever else is asked of it loads the real module into the same
object, as if it had been imported just then.
"""

from __future__ import annotations

import builtins
import importlib.util
import sys
import types
from typing import Any

import torch

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_PACKAGE, _PART = "torch.fx.experimental", "symbolic_shapes"
_NAME = f"{_PACKAGE}.{_PART}"
_type, _Size, _bool = type, torch.Size, bool


class _LazyShapes(types.ModuleType):
    """The module before anything of it ran."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by those who look through all modules
            raise AttributeError(name)
        return getattr(_load(), name)


def install() -> None:
    """Put the lazy module where torch looks for the real one; nothing happens where that is imported."""
    spec = importlib.util.find_spec(_NAME)
    if _NAME in sys.modules or spec is None:
        return
    module = importlib.util.module_from_spec(spec)
    _make_lazy(module)
    sys.modules[_NAME] = vars(sys.modules[_PACKAGE])[_PART] = module


def _make_lazy(module: types.ModuleType) -> None:
    vars(module).update(_OFFERED)
    module.__class__ = _LazyShapes


def _sym_eq(x: Any, y: Any) -> Any:
    """Whether two shapes are equal; a symbol in one of them is the real module's affair."""
    is_plain = _type(x) is _type(y) is _Size and {*map(_type, (*x, *y))} <= {int}
    return x == y if is_plain else _load().sym_eq(x, y)


def _expect_true(a: Any, skip: int = 0) -> Any:
    """What is a bool already; a symbol's is the real module's affair."""
    return a if _type(a) is _bool else _load().expect_true(a, skip + 1)


_OFFERED = {"sym_eq": _sym_eq, "expect_true": _expect_true}


def _load() -> Any:
    """The real module; where it cannot be loaded, the next question tries it again."""
    module: Any = sys.modules[_NAME]
    if isinstance(module, _LazyShapes):
        try:
            _execute(module)
        except BaseException:
            _make_lazy(module)
            raise
    return module


def _execute(module: Any) -> None:
    """What an import would have done, in a module that is not lazy any more: its parts ask for each other."""
    module.__class__ = types.ModuleType
    for name in _OFFERED:
        vars(module).pop(name, None)
    module.__spec__.loader.exec_module(module)
