"""Outside: what the author of a check writes with: points, raised, assert_close; and what a check is."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from grader.closeness import TOLERANCE, are_close
from grader.difference import difference_of
from grader.errors import CourseError
from grader.facts import Raised, Tensor

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Check:
    """One hidden check, without its verdict.

    Attributes:
        id: name of the test function.
        title: first line of its docstring, which students read.
        hint: the rest of the docstring, which students read when its last statement fails, or None.
        points: what it is worth.
        question: id of the question its probes belong to.
        probes: names of the probes it judges.
        last_line: where in its file its last statement begins.
    """

    id: str
    title: str
    hint: str | None
    points: float
    question: str
    probes: tuple[str, ...]
    last_line: int = 0


class WithoutHintError(AssertionError):
    """A failure that no hint of its check asks about: the sentence says all that is known."""


def points(number: float) -> pytest.MarkDecorator:
    """Say what a check is worth.

    Raises:
        CourseError: the number is not positive, or infinite.
    """
    if not 0 < number < math.inf:
        raise CourseError(f"@points({number}): a check is worth more than nothing, and no more than a number")
    return pytest.mark.points(number)


def points_of(function: Callable[..., Any]) -> float:
    """What a check is worth; 1 where its author said nothing."""
    marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "points"]
    return float(marks[0].args[0]) if marks else 1.0


def title_and_hint(function: Callable[..., Any]) -> tuple[str, str | None]:
    """The first line of a check's docstring, and the rest as one paragraph per blank-separated block.

    Raises:
        CourseError: there is no docstring, so a student could not read what the check is about.
    """
    text = inspect.getdoc(function)
    if not text:
        where = f"{function.__name__} in {inspect.getsourcefile(function)}"
        raise CourseError(f"{where} has no docstring: its first line is the title students read")
    title, _, rest = text.partition("\n")
    paragraphs = [" ".join(block.split()) for block in rest.split("\n\n")]
    return title.strip().rstrip("."), "\n\n".join(p for p in paragraphs if p) or None


def raised(fact: Any, error: type[BaseException], fragment: str = "") -> bool:
    """Whether a fact is an exception of this class whose text contains the fragment.

    Args:
        fact: what ``attempt`` gave back.
        error: the class, or a base class, that is expected.
        fragment: a piece of torch's text that is stable over its releases.
    """
    return isinstance(fact, Raised) and error.__name__ in fact.types and fragment in fact.text


def assert_close(seen: Any, expected: Any, message: str, others: Mapping[str, Any] | None = None) -> None:
    """Fail unless two facts are numerically the same, element by element.

    Shape and dtype must be equal. Elements agree within the dtype's ``TOLERANCE`` times the larger of
    the expected element's and a hundredth of the largest expected element's magnitude, so rounding
    noise around zero does not count while a small gradient is not taken for zero. NaN is never equal,
    infinities are equal to themselves.

    Args:
        seen: a tensor, a number, None, or a list, tuple or dict of these.
        expected: the same of the reference.
        message: the diagnosis; what kind of difference there is is added, see ``how_it_differs``. A hint
            may follow behind a blank line.
        others: what may have been taken for the expected, by name, as for ``how_it_differs``.

    Raises:
        WithoutHintError: another type, shape, dtype or number of entries was seen, or values that are nan,
            cut off, rounded, nearly right or in another order; no hint is shown.
        AssertionError: they differ in another way; the text is the diagnosis.
        TypeError: the expected fact is nothing that can be compared in this way.
        ValueError: the expected tensor is too large to be compared.
    """
    others = others or {}
    if isinstance(expected, dict):
        if not isinstance(seen, dict):
            raise _of_another_type(seen, message)
        for key, value in expected.items():
            assert_close(seen.get(key), value, f"{key}: {message}", {**others, **_siblings(expected, key)})
    elif isinstance(expected, list | tuple):
        _assert_sequence_close(seen, expected, message, others)
    elif isinstance(expected, Tensor):
        _assert_tensor_close(seen, expected, message, others)
    elif expected is None:
        if seen is not None:
            raise _of_another_type(seen, message)
    elif isinstance(expected, int | float):
        _assert_number_close(seen, expected, message, others)
    else:
        raise TypeError(
            f"assert_close compares tensors and numbers, and here {describe(expected)} is expected"
        )


def is_close(seen: Any, expected: Any) -> bool:
    """Whether ``assert_close`` accepts it; to choose between diagnoses, for a verdict needs a sentence.

    Args:
        seen: as for ``assert_close``.
        expected: as for ``assert_close``.
    """
    try:
        assert_close(seen, expected, "")
    except AssertionError:
        return False
    return True


def _siblings(expected: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The other entries of a dict, for which one of them may have been taken."""
    return {f"what {name} should be": value for name, value in expected.items() if name != key}


def _is_single(fact: Any) -> bool:
    """Whether it is one number, which in a list may be equal to another entry by chance."""
    return type(fact) in {int, float} or (isinstance(fact, Tensor) and len(fact.value or ()) == 1)


def _assert_sequence_close(
    seen: Any, expected: Sequence[Any], message: str, others: Mapping[str, Any]
) -> None:
    if not isinstance(seen, list | tuple):
        raise _of_another_type(seen, message)
    if len(seen) != len(expected):
        raise WithoutHintError(_because(message, f"there are {len(seen)} of them"))
    named = {f"entry {number}": value for number, value in enumerate(expected)}
    is_of_numbers = all(type(value) in {int, float} for value in [*seen, *expected])
    for one, (name, value) in zip(seen, named.items(), strict=True):
        if is_of_numbers:
            if not _is_same_number(one, value):
                raise _of_other_values(seen, expected, message, others)
        else:
            several = {place: right for place, right in named.items() if not _is_single(right)}
            assert_close(one, value, message, {**others, **_siblings(several, name)})


def _assert_number_close(seen: Any, expected: float, message: str, others: Mapping[str, Any]) -> None:
    if not isinstance(seen, int | float):
        raise _of_another_type(seen, message)
    if not _is_same_number(seen, expected):
        raise _of_other_values(seen, expected, message, others)


def _is_same_number(seen: float, expected: float) -> bool:
    exact = type(expected) is int and type(seen) is int
    return seen == expected if exact else are_close([seen], [expected], TOLERANCE["torch.float32"])[0]


def _assert_tensor_close(seen: Any, expected: Tensor, message: str, others: Mapping[str, Any]) -> None:
    if not isinstance(seen, Tensor):
        raise _of_another_type(seen, message)
    if seen.shape != expected.shape:
        how = difference_of(seen, expected, others)
        raise WithoutHintError(
            _because(message, f"its shape is {seen.shape}{f', {how.clause}' if how else ''}")
        )
    if seen.dtype != expected.dtype:
        raise WithoutHintError(_because(message, f"its dtype is {seen.dtype}"))
    if expected.value is None:
        raise ValueError(
            f"the expected tensor of shape {expected.shape} is too large to compare: make it smaller"
        )
    assert seen.value is not None, _because(message, "its values cannot be read")
    if not all(are_close(seen.value, expected.value, TOLERANCE.get(expected.dtype, 0.0))):
        raise _of_other_values(seen, expected, message, others)


def _of_another_type(seen: Any, message: str) -> AssertionError:
    """None may come of the mistake that a hint is about; a value of another type is a mistake of its own."""
    kind = AssertionError if seen is None else WithoutHintError
    return kind(_because(message, f"{describe(seen)} was found"))


def _of_other_values(seen: Any, expected: Any, message: str, others: Mapping[str, Any]) -> AssertionError:
    difference = difference_of(seen, expected, others)
    if difference is None:
        return AssertionError(message)
    kind = WithoutHintError if difference.says_all else AssertionError
    return kind(_because(message, difference.clause))


def _because(message: str, reason: str) -> str:
    if reason == "None was found" and "None" in message:
        return message
    said, blank, hint = message.partition("\n\n")
    return f"{said.rstrip('.')} ({reason}).{blank}{hint}"


def describe(fact: Any) -> str:
    """A fact's kind, in words a student reads: ``a tensor``, ``None``, ``an int`` ..."""
    if fact is None:
        return "None"
    if isinstance(fact, Tensor):
        return "a tensor"
    if isinstance(fact, Raised):
        return f"an error ({fact.type[:60]})"
    name = str(getattr(fact, "type", type(fact).__name__))[:60]
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
