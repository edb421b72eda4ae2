"""Findings about observations that are missing, or have another form than the reference's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from grader.contracts.check import describe, entries, instead
from grader.contracts.diagnosis import finding_of
from grader.contracts.finding import Finding
from grader.sandbox.evidence import ENDINGS, NotObserved, RequestRaised
from grader.sandbox.values import Tensor, is_cut_off
from grader.text import capital, code

_Path = tuple[str | int, ...]
_PLAIN = {type(None), bool, int, float, str, list, tuple, dict, Tensor}


def finding_without_observation(outcome: RequestRaised | NotObserved) -> Finding:
    """The finding for a contract that was not observed."""
    if isinstance(outcome, RequestRaised):
        return finding_of(outcome.error, "unobserved")
    failure = outcome.failure
    return Finding(
        "unobserved",
        sentence(outcome.reason),
        group=failure or outcome.reason,
        stopped=failure in ENDINGS,
        failure=failure,
    )


def other_form(seen: Any, expected: Any) -> Finding | None:
    """The finding if a result has another form than the reference's; if a part was cut off, only that.

    A list and a tuple, or two kinds of number, are always alike.
    """
    mismatch = _other_form(seen, expected, ())
    if mismatch is not None and is_cut_off(seen):
        return _of_form("the result is too large, so a part of it was omitted")
    return mismatch


def _of_form(text: str, *, is_none: bool = False) -> Finding:
    return Finding("form", sentence(text), group=text, is_none=is_none)


def _other_form(seen: Any, expected: Any, path: _Path) -> Finding | None:
    """The first place where a value has another type than the reference's, or None.

    If both a length and a kind differ, the length counts, because a missing part moves all behind it.
    """
    is_plain = type(seen) is type(expected) and type(seen) in _PLAIN
    if not is_plain and _kind(seen) != _kind(expected):
        return _of_form(f"{_place(path)} is {instead(seen, expected)}", is_none=seen is None)
    if isinstance(expected, dict):
        missing = [key for key in expected if key not in seen]
        if missing:
            return _of_form(f"{_place(path)} has no entry `{missing[0]!r}`")
        keys: Iterable[Any] = expected
    elif isinstance(expected, list | tuple):
        keys = range(min(len(seen), len(expected)))
    else:
        return None
    parts = (_other_form(seen[key], expected[key], (*path, key)) for key in keys)
    mismatch = next(filter(None, parts), None)
    has_length = isinstance(expected, list | tuple)
    if has_length and len(seen) != len(expected):
        return _of_form(f"{_place(path)} has {entries(len(seen))} instead of {len(expected)}")
    return mismatch


def _kind(value: Any) -> str:
    if isinstance(value, bool | int | float):
        return "number"
    if isinstance(value, list | tuple):
        return "sequence"
    return f"{type(value).__name__}: {describe(value)}"  # a student's class may be called dict too


def _place(path: _Path) -> str:
    """An entry as a student knows it: the author's key at the top, a lookup below."""
    if not path:
        return "the result"
    top, *below = path
    looked_up = "".join(f"[{key!r}]" for key in below)
    return (
        f"in the result, {code(top + looked_up) if isinstance(top, str) else f'entry `[{top}]{looked_up}`'}"
    )


def is_gradients(value: Any) -> bool:
    """Whether a value is a result of ``gradients``."""
    return isinstance(value, dict) and value.keys() == {"output", "gradients", "frozen"}


def sentence(text: str) -> str:
    """A text with a capital at its beginning and a full stop behind it."""
    text = capital(text)
    return text if text.endswith((".", "?", "!")) else text + "."
