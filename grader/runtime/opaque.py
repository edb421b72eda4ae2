"""Makes our callables and classes usable for student code, but not inspectable.

A Python function shows its globals and its closure to any code that holds it, and a bound method shows its
object. So a signal handler, a stand-in for Jupyter, a hook or the ``forward`` of a network would give student
code our modules, and with them every value that is observed. Everything of ours that student code can hold is
therefore a callable of C (`opaque`) or an instance of a class whose methods are (`sealed`), and
``type.__subclasses__`` skips our classes (`hide_subclasses`). The garbage collector, frames and ctypes still
lead to them; each of these raises an audit event, which flags the notebook (``audit.py``).
"""

from __future__ import annotations

import ctypes
import gc
import types
from typing import Any

from .originals import CacheInfo, builtins_copy, lru_cache_wrapper, module_of_class

__builtins__ = builtins_copy()


def opaque(function: Any) -> Any:
    """The same callable as an object of C that shows nothing: a cache of no entries, which only calls."""
    return lru_cache_wrapper(function, 0, False, CacheInfo)


def sealed(kind: Any) -> Any:
    """Make the methods and properties that a class defines opaque; returns the class."""
    for name, part in list(vars(kind).items()):
        match part:
            case types.FunctionType():
                setattr(kind, name, opaque(part))
            case staticmethod() | classmethod():
                setattr(kind, name, type(part)(opaque(part.__func__)))
            case property():
                fget, fset, fdel = (f and opaque(f) for f in (part.fget, part.fset, part.fdel))
                setattr(kind, name, property(fget, fset, fdel, part.__doc__))
    return kind


def sealed_function(kind: Any) -> Any:
    """The same for a ``torch.autograd.Function``; the nodes of its graphs no longer lead to it."""
    node = sealed(kind)._backward_cls
    node.apply = kind.backward
    del node._forward_cls
    return kind


def hide_subclasses(*modules: str) -> None:
    """Make ``type.__subclasses__`` skip the classes of these top-level modules.

    Python's abstract base classes call it too, and get every other class as before.
    """
    table = gc.get_referents(type.__dict__)[0]  # the dictionary itself, of which a class shows a copy
    subclasses = table["__subclasses__"]

    def others(kind: type) -> list[type]:
        return [k for k in subclasses(kind) if str(module_of_class(k)).partition(".")[0] not in modules]

    table["__subclasses__"] = opaque(others)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(type))  # invalidates cached lookups
