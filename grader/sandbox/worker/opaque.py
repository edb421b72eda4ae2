"""Inside: callables of ours that students' code can call, and from which nothing leads further.

A Python function shows its closure and its globals to everybody who holds it. One that stands where
students' code finds it (a module's ``forward``, a hook on saved tensors) would hand out our records.
"""

from __future__ import annotations

import builtins
import functools
from typing import Any

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_wrapper: Any = functools._lru_cache_wrapper
_cache_info = functools._CacheInfo


def opaque(function: Any) -> Any:
    """The same callable, as an object of C that shows nothing of what it calls.

    (A cache that may keep nothing only calls; only the garbage collector knows what it holds.)
    """
    return _wrapper(function, 0, False, _cache_info)
