"""The attributes of classes and modules as they were before any student's code, and what was changed since.

To compare thousands of values changes the reference count of each, so a forked worker has to copy the pages
they lie on, a thousand of them. CPython up to 3.13 counts the writes to every dictionary (PEP 509): a
dictionary without new writes need not be compared. To read a thousand of these numbers each by itself takes
as long as a probe, so numpy reads them at once.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import operator
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

_WRITES_AT = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)  # in a dictionary: after its length
_WIDTH = ctypes.sizeof(ctypes.c_uint64)
_is = operator.is_
_all, _map, _repeat = all, map, itertools.repeat
MISSING = object()


class AttributeSnapshot:
    """The attributes of a class or a module at this moment; `original` are those that have to stay."""

    __slots__ = ("names", "original", "owner")

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.original: dict[str, Any] = dict(vars(owner))
        self.names = frozenset(self.original)

    def is_complete(self) -> bool:
        """Whether every original attribute is what it was."""
        current = _map(vars(self.owner).get, self.original, _repeat(MISSING))
        return _all(_map(_is, current, self.original.values()))


class AttributeSnapshots:
    """Several namespaces, and how often each had been written to when it was last looked at.

    Args:
        owners: classes and modules.
        most: where Python does not count writes, only so many, the first, are compared.
        few: so few that to compare them always is cheaper than to find their numbers.
    """

    def __init__(self, owners: Sequence[Any], most: int | None = None, *, few: bool = False) -> None:
        self.all = [AttributeSnapshot(owner) for owner in owners]
        self._most = len(self.all) if most is None else most
        counted = _IS_COUNTED and owners and not few
        self._counters = _Counters([vars(owner) for owner in owners]) if counted else None
        self._seen = self.writes()

    def writes(self) -> bytes:
        """The numbers of writes up to now; empty where Python does not count."""
        return self._counters.read() if self._counters else b""

    def written(self) -> Iterator[tuple[int, AttributeSnapshot]]:
        """Those written to since they were marked clean, by index; all where Python does not count."""
        if self._counters is None:
            yield from enumerate(self.all[: self._most])
        elif (now := self._counters.read()) != self._seen:
            yield from ((index, self.all[index]) for index in _unequal(now, self._seen))

    def mark_clean(self, indices: Sequence[int], writes: bytes) -> None:
        """Until these numbers nothing was changed; only later writes count."""
        if writes:
            seen = bytearray(self._seen)
            for index in indices:
                part = slice(index * _WIDTH, (index + 1) * _WIDTH)
                seen[part] = writes[part]
            self._seen = bytes(seen)

    def written_between(self, before: bytes, after: bytes) -> list[AttributeSnapshot]:
        """Those written to between two results of ``writes``, whatever they hold by now."""
        return [] if before == after else [self.all[index] for index in _unequal(before, after)]


def _unequal(one: bytes, other: bytes) -> list[int]:
    pairs = zip(memoryview(one).cast("Q"), memoryview(other).cast("Q"), strict=True)
    return [index for index, (a, b) in enumerate(pairs) if a != b]


class _Counters:
    """The numbers of writes of several dictionaries; ``vars`` of a class is a proxy of its dictionary."""

    def __init__(self, namespaces: Sequence[Any]) -> None:
        dictionaries = (n if type(n) is dict else gc.get_referents(n)[0] for n in namespaces)
        addresses = [id(dictionary) + _WRITES_AT for dictionary in dictionaries]
        begin = min(addresses)
        stretch = ctypes.c_uint64 * ((max(addresses) - begin) // _WIDTH + 1)
        self._memory = np.frombuffer(memoryview(stretch.from_address(begin)), np.uint64)  # only they are read
        self._positions = np.array([(address - begin) // _WIDTH for address in addresses])

    def read(self) -> bytes:
        numbers: bytes = self._memory.take(self._positions).tobytes()
        return numbers


def _is_counted() -> bool:
    """Try it: the number has to change with a write, and not by itself."""
    if sys.implementation.name != "cpython":
        return False
    tried: dict[str, object] = {}
    counter, seen = _Counters([tried]), []
    for value in (object(), object()):
        tried["key"] = value
        seen += [counter.read(), counter.read()]
    return seen[0] == seen[1] != seen[2] == seen[3]


_IS_COUNTED = _is_counted()
