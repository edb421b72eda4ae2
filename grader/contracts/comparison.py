"""``assert_close``: compares an observed value with the expected one, and says how they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from grader.contracts.check import describe, entries, instead
from grader.contracts.diagnosis import finding_of
from grader.contracts.difference import (
    RIGHT_VALUES,
    TOLERANCE,
    Difference,
    are_close,
    decimals_of,
    difference_of,
    is_fully_precise,
    is_number,
    literal,
    rounding_of,
    to_decimals,
)
from grader.contracts.finding import FailedCheckError, Finding, diagnosis_and_hint
from grader.sandbox.values import Raised, Tensor
from grader.text import code

_COMPARED = (dict, list, tuple, Tensor, int, float, type(None))
FEW_DIGITS = "{it} {is} accurate to float32 precision only"
HINT_OF_DIGITS = (
    "Typical causes are an operation in float32, rounding, and a small number, such as an epsilon, that is "
    "added."
)


def assert_close(  # noqa: PLR0913 - each is asked for by some check
    seen: Any,
    expected: Any,
    message: str,
    others: Mapping[str, Any] | None = None,
    *,
    place: str = "",
    strict: bool = False,
    full_precision: bool = False,
) -> None:
    """Fail unless two values are numerically equal, element by element.

    Shape and dtype must be equal. Elements agree within the dtype's ``TOLERANCE`` times the larger of the
    expected element's magnitude and a hundredth of the largest expected element's. So rounding noise around
    zero is accepted, and a small gradient does not count as zero. If the reference's values change more when
    its results are perturbed by rounding, four times that change is accepted. If all expected elements are 0,
    only 0 is right. NaN is never equal; infinities are equal to themselves.

    Args:
        seen: a tensor, a number, None, or lists, tuples and dicts of these, to any depth.
        expected: the same of the reference.
        message: the diagnosis, to which the place and kind of the first difference are added. A hint may
            follow after a blank line. Students don't see it if an error was caught, if type, shape, dtype or
            number of entries differ, or if values are nan, clipped, rounded or in another
            order.
        others: wrong results that may have been observed, as for ``how_it_differs``.
        place: the path of the values, if the message does not name it.
        strict: distinguish tuples from lists, and refuse unexpected keys of a dict.
        full_precision: float64 values and Python numbers must agree to 1e-12 of each element, or within the
            measured sensitivity to rounding.

    Raises:
        FailedCheckError: they differ.
        TypeError: the expected value cannot be compared, or an entry of `others` is a dict.
        ValueError: the expected tensor is too large to be compared.
    """
    require_single_values(others or {})
    compared = _Comparison(others or {}, place, strict, full_precision, explains=False)
    if compared.difference(seen, expected) is not None:
        raise FailedCheckError(partial(_finding, message, replace(compared, explains=True), seen, expected))


def _finding(message: str, compared: _Comparison, seen: Any, expected: Any) -> Finding:
    """The finding for two values that differ, from an author's message."""
    difference = compared.difference(seen, expected)
    if difference is None:
        raise RuntimeError("two comparisons of the same values disagree")
    diagnosis, hint = diagnosis_and_hint(message)
    if difference.error is not None:
        place = f" ({code(difference.place)})" if difference.place else ""
        return finding_of(difference.error, "raised", f"{diagnosis.rstrip('.')}{place}", difference.place)
    is_imprecise = difference.kind == "digits"
    return Finding(
        "wrong",
        because(diagnosis, difference),
        HINT_OF_DIGITS if is_imprecise else None if difference.says_all else hint,
        takes_hint=not difference.says_all,
        group=f"{difference.place} {difference.kind}".strip(),
        is_none=difference.is_none,
        of_values=not is_imprecise,
        varying=because_varying(diagnosis, difference),
    )


def require_single_values(others: Mapping[str, Any]) -> None:
    """Raise TypeError for a dict under a single name, which would never be compared."""
    for name, other in others.items():
        if isinstance(other, dict):
            raise TypeError(f"others={{{name!r}: ...}} is a dict: name each of its tensors, in one dict")


def is_close(seen: Any, expected: Any, *, full_precision: bool = False) -> bool:
    """Whether ``assert_close`` would pass; only for choosing between diagnoses, not for a verdict."""
    compared = _Comparison({}, "", full_precision=full_precision, explains=False)
    return compared.difference(seen, expected) is None


def compare(seen: Any, expected: Any, others: Mapping[str, Any]) -> Difference | None:
    """The first difference that ``assert_close`` would report, or None."""
    return _Comparison(others, "").difference(seen, expected)


def because(diagnosis: str, difference: Difference) -> str:
    """A diagnosis that ends with the place and the kind of the difference."""
    clause = difference.clause
    says_so = difference.is_none and "None" in diagnosis
    return f"{diagnosis.rstrip('.')} ({clause})." if clause and not says_so else diagnosis


def because_varying(diagnosis: str, difference: Difference) -> str:
    """As `because`, for a factor that differs between inputs; empty for any other difference."""
    if difference.kind != "multiple":
        return ""
    form = f"here {difference.form}; the factor differs between inputs"
    return because(diagnosis, replace(difference, form=form))


@dataclass(frozen=True)
class _Comparison:
    """Compares two values at the same place of a structure: ``bias``, ``entry [2][0]``, or empty."""

    others: Mapping[str, Any]
    place: str
    strict: bool = False
    full_precision: bool = False
    explains: bool = True  # False skips the search for the kind of difference, which takes longest

    def difference(self, seen: Any, expected: Any) -> Difference | None:  # noqa: PLR0911 - one for each type
        """The first difference, or None."""
        if isinstance(seen, Raised) and isinstance(expected, _COMPARED):
            return Difference("", "error", says_all=True, place=self.place, error=seen)
        if isinstance(expected, dict):
            return self._of_dicts(seen, expected)
        if isinstance(expected, list | tuple):
            return self._of_sequences(seen, expected)
        if isinstance(expected, Tensor):
            return self._of_tensors(seen, expected)
        if expected is None:
            return None if seen is None else self._another_type(seen, expected)
        if isinstance(expected, bool) and isinstance(seen, bool) and seen is not expected:
            return Difference(f"{{it}} {{is}} {seen}", "values", place=self.place)
        if isinstance(expected, int | float):
            is_any = isinstance(seen, int | float)
            return self._of_numbers([seen], [expected]) if is_any else self._another_type(seen, expected)
        raise TypeError(
            f"assert_close compares tensors and numbers, and here {describe(expected)} is expected"
        )

    def _of_dicts(self, seen: Any, expected: Mapping[str, Any]) -> Difference | None:
        if not isinstance(seen, dict):
            return self._another_type(seen, expected)
        for key, value in expected.items():
            place = f"{self.place}[{key!r}]" if self.place else key or f"entry `{key!r}`"
            inner = self._at(place, _siblings(expected, key))
            if key not in seen and value is not None:
                return Difference("{it} {is} missing", "missing", place=inner.place)
            if error := inner.difference(seen.get(key), value):
                return error
        more = [key for key in seen if key not in expected] if self.strict else []
        return (
            self._saying_all("entries", f"{{it}} {{has}} an extra entry {literal(repr(more[0][:60]))}")
            if more
            else None
        )

    def _of_sequences(self, seen: Any, expected: Sequence[Any]) -> Difference | None:
        if not isinstance(seen, list | tuple) or (self.strict and type(seen) is not type(expected)):
            return self._another_type(seen, expected)
        if len(seen) != len(expected):
            return self._saying_all(
                "entries", f"{{it}} {{has}} {entries(len(seen))} instead of {len(expected)}"
            )
        if all(map(is_number, [*seen, *expected])):
            return self._of_numbers(seen, expected)
        named = {f"entry {number}": value for number, value in enumerate(expected)}
        several = {name: value for name, value in named.items() if not _is_single(value)}
        for number, (entry, value) in enumerate(zip(seen, expected, strict=True)):
            inner = self._at(f"{self.place or 'entry '}[{number}]", _siblings(several, f"entry {number}"))
            if error := inner.difference(entry, value):
                return error
        return None

    def _of_numbers(self, seen: Sequence[float], expected: Sequence[float]) -> Difference | None:
        rounding = rounding_of(expected)
        is_precise = not self.full_precision or is_fully_precise(seen, expected, rounding)
        decimals = None if is_precise else decimals_of(seen, expected)
        if decimals is not None:
            rounded = f"{{it}} {{is}} the right value, rounded{to_decimals(decimals, len(seen))}"
            return self._saying_all("rounded", rounded)
        same = all(map(self._is_same_number, seen, expected))
        return self._too_few_digits(seen, expected, rounding) if same else self._other_values(seen, expected)

    def _is_same_number(self, seen: float, expected: float) -> bool:
        if type(expected) is int and type(seen) is int:
            return seen == expected
        return all(are_close([seen], [expected], TOLERANCE["torch.float32"], rounding_of(expected)))

    def _of_tensors(self, seen: Any, expected: Tensor) -> Difference | None:
        if not isinstance(seen, Tensor):
            return self._another_type(seen, expected)
        if seen.shape != expected.shape:
            kind = self._explained(seen, expected)
            more = f"{', but' if kind.form == RIGHT_VALUES else ';'} {literal(kind.clause)}" if kind else ""
            return self._saying_all("shape", f"{{shape}} is {seen.shape} instead of {expected.shape}{more}")
        if seen.dtype != expected.dtype:
            return self._saying_all("dtype", f"{{dtype}} is {seen.dtype} instead of {expected.dtype}")
        if expected.value is None:
            raise ValueError(
                f"the expected tensor of shape {expected.shape} is too large to compare: make it smaller"
            )
        if seen.value is None:
            return Difference("{values} cannot be read", "unreadable", place=self.place)
        tolerance = TOLERANCE.get(expected.dtype, 0.0)
        if not all(are_close(seen.value, expected.value, tolerance, rounding_of(expected))):
            return self._other_values(seen, expected)
        is_double = expected.dtype == "torch.float64"
        rounding = rounding_of(expected)
        return self._too_few_digits(seen.value, expected.value, rounding) if is_double else None

    def _too_few_digits(
        self, seen: Sequence[float], expected: Sequence[float], rounding: float
    ) -> Difference | None:
        wrong = self.full_precision and not is_fully_precise(seen, expected, rounding)
        return self._saying_all("digits", FEW_DIGITS) if wrong else None

    def _at(self, place: str, siblings: Mapping[str, Any]) -> _Comparison:
        return replace(self, place=place, others={**self.others, **siblings})

    def _another_type(self, seen: Any, expected: Any) -> Difference:
        """The difference of type; a hint about a mistake fits only if the observed value is None."""
        form, is_none = f"{{it}} {{is}} {literal(instead(seen, expected))}", seen is None
        return Difference(form, "type", says_all=not is_none, place=self.place, is_none=is_none)

    def _other_values(self, seen: Any, expected: Any) -> Difference:
        difference = self._explained(seen, expected) or Difference("", "values")
        return replace(difference, place=self.place)

    def _explained(self, seen: Any, expected: Any) -> Difference | None:
        return difference_of(seen, expected, self.others) if self.explains else None

    def _saying_all(self, kind: str, form: str) -> Difference:
        return Difference(form, kind, says_all=True, place=self.place)


def _siblings(expected: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The entries of a dict that a student may have confused with this one; numbers agree by chance."""
    others = {name: value for name, value in expected.items() if name != key and not is_number(value)}
    return {f"what {code(name)} should be": value for name, value in others.items()}


def _is_single(value: Any) -> bool:
    """Whether a value is a single number, which may equal another entry of a list by chance."""
    return is_number(value) or (isinstance(value, Tensor) and len(value.value or ()) == 1)
