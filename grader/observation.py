"""Outside: an observation, what a probe saw of a submission beside what it saw of the reference."""

from __future__ import annotations

from typing import Any

from grader.check import describe
from grader.diagnosis import diagnose
from grader.errors import CourseError
from grader.evidence import Fault, Outcome, Stopped
from grader.facts import Raised


class Observation:
    """The two sides a check compares; the value of a probe's fixture.

    Args:
        probe: the probe's name.
        seen: what it saw of the submission.
        expected: what it saw of the reference.
    """

    def __init__(self, probe: str, seen: Outcome, expected: Outcome) -> None:
        self._probe, self._seen, self._expected = probe, seen, expected

    @property
    def expected(self) -> Any:
        """The facts of the reference.

        Raises:
            CourseError: the probe fails on the reference, which is the author's to mend.
        """
        if isinstance(self._expected, Fault):
            raise CourseError(f"probe {self._probe} got no facts of the reference: {self._expected.reason}")
        if isinstance(self._expected, Stopped):
            raise CourseError(f"probe {self._probe} fails on the reference: {diagnose(self._expected.error)}")
        return self._expected

    @property
    def seen(self) -> Any:
        """The facts of the submission, in the form the reference's have.

        Raises:
            AssertionError: there are none, or they have another form; the text is the diagnosis.
        """
        expected = self.expected
        if isinstance(self._seen, Fault):
            raise AssertionError(_sentence(self._seen.reason))
        if isinstance(self._seen, Stopped):
            raise AssertionError(_sentence(diagnose(self._seen.error)))
        mismatch = other_form(self._seen, expected)
        if mismatch:
            raise AssertionError(f"In what came back, {mismatch}.")
        return self._seen

    @property
    def mismatch(self) -> str | None:
        """The first difference in form, None and lengths included: why a check may have stumbled."""
        mismatch = other_form(self._seen, self._expected, strict=True)
        return f"In what came back, {mismatch}." if mismatch else None


def other_form(seen: Any, expected: Any, path: str = "the result", *, strict: bool = False) -> str | None:
    """Say where a value is of another kind than the reference's, or None.

    Not strict, None and a raised error may stand for anything and lengths may differ, because checks
    ask for these. A list and a tuple, or two kinds of number, are alike always.
    """
    if not strict and (
        seen is None or expected is None or isinstance(seen, Raised) or isinstance(expected, Raised)
    ):
        return None
    if _kind(seen) != _kind(expected):
        return f"{path} is {describe(seen)}, {describe(expected)} was expected"
    if isinstance(expected, dict):
        absent = [key for key in expected if key not in seen]
        if absent:
            return f"{path} has no entry {absent[0]!r}"
        parts = [(seen[key], value, _name(path, key)) for key, value in expected.items()]
    elif isinstance(expected, list | tuple):
        if strict and len(seen) != len(expected):
            return f"{path} has {len(seen)} entries"
        parts = [
            (one, value, f"{path}[{n}]") for n, (one, value) in enumerate(zip(seen, expected, strict=False))
        ]
    else:
        return None
    found = (other_form(*part, strict=strict) for part in parts)
    return next((mismatch for mismatch in found if mismatch), None)


def _kind(value: Any) -> str:
    if isinstance(value, bool | int | float):
        return "number"
    if isinstance(value, list | tuple):
        return "sequence"
    return f"{type(value).__name__}: {describe(value)}"  # a student's class may be called dict too


def _name(path: str, key: str) -> str:
    """How a student knows an entry: the author's key at the top, a lookup below."""
    return key if path == "the result" else f"{path}[{key!r}]"


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else text + "."
