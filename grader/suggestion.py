"""Outside: a suggestion, what somebody may have meant who wrote a name that is not known."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

_MOST_NEAR, _MOST_KNOWN = 3, 10
_ALIKE = 0.5  # by the measure of difflib, which is 1 for equal names


def nearest(name: str, known: Collection[str]) -> str:
    """The end of a sentence: the names that look like it or, where none does, some of all there are."""
    near = get_close_matches(name, known, n=_MOST_NEAR, cutoff=_ALIKE)
    some = near or sorted(known)[:_MOST_KNOWN]
    return f"{'did you mean' if near else 'there is'} {', '.join(some) or 'nothing'}{'?' if near else ''}"
