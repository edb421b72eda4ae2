"""Inside: the attributes of a class or a module as they were before any student's code, and whether they are.

To compare thousands of values touches the reference count of each, so a forked worker has to copy the pages
they lie on, a thousand of them. CPython up to 3.13 counts the writes to every dictionary (PEP 509), and that
number is read from where it stands: who has not been written to need not be compared.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import operator
import sys
from typing import Any

_WRITES_AT = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)  # in a dictionary: after its length
_is = operator.is_
_all, _map, _repeat = all, map, itertools.repeat
MISSING = object()


class Namespace:
    """What ``vars()`` of a class or a module was when this was made.

    Attributes:
        owner: the class or module.
        original: its attributes then.
    """

    __slots__ = ("_seen", "_writes", "original", "owner")

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.original: dict[str, Any] = dict(vars(owner))
        self._writes = _counter_of(vars(owner)) if _IS_COUNTED else None
        self._seen = self._writes.value if self._writes else -1

    def writes(self) -> int | None:
        """The number of writes up to now; None where nobody counts."""
        return None if self._writes is None else self._writes.value

    def was_written(self) -> bool:
        """Whether somebody wrote to it since ``settle`` or the beginning; where nobody counts, perhaps."""
        return self._writes is None or self._writes.value != self._seen

    def settle(self, writes: int | None) -> None:
        """From now on only what is written later than that counts, for until then nothing was changed."""
        if writes is not None:
            self._seen = writes

    def is_complete(self) -> bool:
        """Whether every original attribute is what it was; others may have been added."""
        current = _map(vars(self.owner).get, self.original, _repeat(MISSING))
        return _all(_map(_is, current, self.original.values()))


def _counter_of(namespace: Any) -> ctypes.c_uint64:
    """The number of writes, where the dictionary itself has it; a class shows its own through a proxy."""
    dictionary = namespace if type(namespace) is dict else gc.get_referents(namespace)[0]
    return ctypes.c_uint64.from_address(id(dictionary) + _WRITES_AT)


def _is_counted() -> bool:
    """Try it: the number has to change with a write, and not by itself."""
    if sys.implementation.name != "cpython":
        return False
    tried: dict[str, object] = {}
    counter, seen = _counter_of(tried), []
    for value in (object(), object()):
        tried["key"] = value
        seen += [counter.value, counter.value]
    return seen[0] == seen[1] != seen[2] == seen[3]


_IS_COUNTED = _is_counted()
