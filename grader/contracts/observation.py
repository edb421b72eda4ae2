"""An observation: the facts of a probe for a submission beside those for the reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from grader.contracts.check import describe, entries, instead
from grader.contracts.diagnosis import finding_of
from grader.contracts.finding import FailedCheckError, Finding
from grader.errors import CourseError
from grader.sandbox.evidence import ENDINGS, NoFacts, ProbeOutcome, ProbeRaised
from grader.sandbox.facts import Raised, Tensor, is_cut_off
from grader.text import capital

_Path = tuple[str | int, ...]
_PLAIN = {type(None), bool, int, float, str, list, tuple, dict, Tensor}


def finding_without_facts(outcome: ProbeRaised | NoFacts) -> Finding:
    """What is found where a probe has no facts."""
    if isinstance(outcome, ProbeRaised):
        return finding_of(outcome.error, "unobserved")
    failure = outcome.failure
    return Finding(
        "unobserved",
        sentence(outcome.reason),
        group=failure or outcome.reason,
        stopped=failure in ENDINGS,
        failure=failure,
    )


class ProbeObservation:
    """The two sides that a check compares, the value of a probe's fixture.

    ``observation[key]`` is an entry of both sides.
    """

    def __init__(self, probe: str, seen: ProbeOutcome, expected: ProbeOutcome) -> None:
        self.probe, self._seen, self._expected = probe, seen, expected

    def __iter__(self) -> Iterator[Any]:
        return iter((self.seen, self.expected))

    def __getitem__(self, key: Any) -> tuple[Any, Any]:
        return self.seen[key], self.expected[key]

    @property
    def expected(self) -> Any:
        """The facts of the reference; CourseError if the probe fails on it, which its author has to mend."""
        if isinstance(self._expected, NoFacts):
            raise CourseError(f"probe {self.probe} got no facts of the reference: {self._expected.reason}")
        if isinstance(self._expected, ProbeRaised):
            told = finding_without_facts(self._expected).sentence
            raise CourseError(f"probe {self.probe} fails on the reference: {told}")
        return self._expected

    @property
    def seen(self) -> Any:
        """The facts of the submission; FailedCheckError if there are none of the reference's form."""
        facts = self.in_any_form
        if self._other_form is not None:
            raise FailedCheckError(self._other_form)
        return facts

    @property
    def in_any_form(self) -> Any:
        """The facts of the submission in any form; FailedCheckError if there are none."""
        _ = self.expected
        if isinstance(self._seen, ProbeRaised | NoFacts):
            raise FailedCheckError(finding_without_facts(self._seen))
        return self._seen

    @cached_property
    def _other_form(self) -> Finding | None:
        return other_form(self._seen, self._expected)

    @property
    def mismatch(self) -> Finding | None:
        """The first difference in form, None and lengths included, over which a check may have stumbled."""
        return other_form(self._seen, self._expected, strict=True)


def other_form(seen: Any, expected: Any, *, strict: bool = False) -> Finding | None:
    """Where facts have another form than the reference's; if a part of them was left out, only that."""
    mismatch = _other_form(seen, expected, (), strict=strict)
    if mismatch is not None and is_cut_off(seen):
        return _of_form("of what came back a part was left out: there is too much to look at")
    return mismatch


def _of_form(text: str, *, is_none: bool = False) -> Finding:
    return Finding("form", sentence(text), group=text, is_none=is_none)


def _other_form(seen: Any, expected: Any, path: _Path, *, strict: bool) -> Finding | None:
    """Where a value is of another kind than the reference's, or None.

    Unless strict, None and a raised error may stand for anything and lengths may differ, because checks ask
    for these. If both a length and a kind differ, the length counts, because a missing part moves all behind
    it. A list and a tuple, or two kinds of number, are always alike.
    """
    either = seen, expected
    if not strict and (
        any(fact is None or isinstance(fact, Raised) for fact in either) or all(map(is_gradients, either))
    ):
        return None
    is_plain = type(seen) is type(expected) and type(seen) in _PLAIN
    if not is_plain and _kind(seen) != _kind(expected):
        return _of_form(f"{_place(path)} is {instead(seen, expected)}", is_none=seen is None)
    if isinstance(expected, dict):
        missing = [key for key in expected if key not in seen]
        if missing:
            return _of_form(f"{_place(path)} has no entry {missing[0]!r}")
        keys: Iterable[Any] = expected
    elif isinstance(expected, list | tuple):
        keys = range(min(len(seen), len(expected)))
    else:
        return None
    parts = (_other_form(seen[key], expected[key], (*path, key), strict=strict) for key in keys)
    mismatch = next(filter(None, parts), None)
    has_length = isinstance(expected, list | tuple)
    if has_length and len(seen) != len(expected) and (strict or mismatch):
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
        return "what came back"
    top, *below = path
    looked_up = "".join(f"[{key!r}]" for key in below)
    return f"in what came back, {top if isinstance(top, str) else f'entry [{top}]'}{looked_up}"


def is_gradients(fact: Any) -> bool:
    """Whether a fact is what the word ``gradients`` gives."""
    return isinstance(fact, dict) and fact.keys() == {"output", "gradients", "frozen"}


def sentence(text: str) -> str:
    """A text with a capital at its beginning and a full stop behind it."""
    text = capital(text)
    return text if text.endswith((".", "?", "!")) else text + "."
