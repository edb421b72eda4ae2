"""Outside: values worth remembering between runs, trusted only while what they were read from is the same."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")
Key = tuple[str, ...]
#: What tells whether something is still what it was: a hash, or the size and time of a file.
Signature = tuple[int, int] | str


class Memory(Generic[T]):
    """Values by key, each beside the signature of what it was read from.

    Args:
        former: what a run before remembered.
    """

    def __init__(self, former: dict[Key, tuple[Signature, T]] | None = None) -> None:
        self._former = former or {}
        #: What was recalled or kept in this run; the rest nobody asks for any more.
        self.current: dict[Key, tuple[Signature, T]] = {}

    def recall(self, key: Key, signature: Signature) -> T | None:
        """The value, if there is one and its signature has not changed."""
        entry = self.current.get(key) or self._former.get(key)
        if entry is None or entry[0] != signature:
            return None
        self.current[key] = entry
        return entry[1]

    def keep(self, key: Key, signature: Signature, value: T) -> None:
        """Remember a value."""
        self.current[key] = signature, value

    def forget(self, key: Key) -> None:
        """Forget a value, because what it was read from is about to change."""
        self._former.pop(key, None)
        self.current.pop(key, None)

    @property
    def has_changed(self) -> bool:
        """Whether this run remembers anything else than the one before."""
        return self.current != self._former
