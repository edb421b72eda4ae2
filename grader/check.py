"""Outside: what the author of a check writes with: points, raised, assert_close; and what a check is."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from grader.errors import CourseError
from grader.facts import Raised, Tensor

Function = TypeVar("Function", bound=Callable[..., Any])

#: Relative (and, scaled by the largest element, absolute) tolerance by dtype; what is not listed has to be
#: exact. A number counts as float32's, because most often it is the .item() of one.
TOLERANCE = {
    "torch.float64": 1e-5,
    "torch.complex128": 1e-5,
    "torch.float32": 1e-4,
    "torch.complex64": 1e-4,
    "torch.float16": 1e-2,
    "torch.bfloat16": 1e-2,
}


@dataclass(frozen=True)
class Check:
    """One hidden check, without its verdict.

    Attributes:
        id: name of the test function.
        title: first line of its docstring, which students read.
        hint: the rest of the docstring, which students read when it fails, or None.
        points: what it is worth.
        question: id of the question its probes belong to.
        probes: names of the probes it judges.
    """

    id: str
    title: str
    hint: str | None
    points: float
    question: str
    probes: tuple[str, ...]


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


def assert_close(seen: Any, expected: Any, message: str) -> None:
    """Fail unless two facts are numerically the same, element by element.

    Shape and dtype must be equal. Elements agree within the dtype's ``TOLERANCE`` times the larger of
    the expected element's and a hundredth of the largest expected element's magnitude, so rounding
    noise around zero does not count while a small gradient is not taken for zero. NaN is never equal,
    infinities are equal to themselves.

    Args:
        seen: a tensor, a number, None, or a list, tuple or dict of these.
        expected: the same of the reference.
        message: the diagnosis; what was seen instead is added where it tells more.

    Raises:
        AssertionError: they differ; the text is the diagnosis.
        TypeError: the expected fact is nothing that can be compared in this way.
        ValueError: the expected tensor is too large to be compared.
    """
    if isinstance(expected, dict):
        assert isinstance(seen, dict), _because(message, f"{describe(seen)} was found")
        for key, value in expected.items():
            assert_close(seen.get(key), value, f"{key}: {message}")
    elif isinstance(expected, list | tuple):
        assert isinstance(seen, list | tuple), _because(message, f"{describe(seen)} was found")
        assert len(seen) == len(expected), _because(message, f"there are {len(seen)} of them")
        for one, value in zip(seen, expected, strict=True):
            assert_close(one, value, message)
    elif isinstance(expected, Tensor):
        _assert_tensor_close(seen, expected, message)
    elif expected is None:
        assert seen is None, _because(message, f"{describe(seen)} was found")
    elif type(expected) is int and type(seen) is int:
        assert seen == expected, message
    elif isinstance(expected, int | float):
        assert isinstance(seen, int | float), _because(message, f"{describe(seen)} was found")
        assert _close([seen], [expected], TOLERANCE["torch.float32"]), message
    else:
        raise TypeError(
            f"assert_close compares tensors and numbers, and here {describe(expected)} is expected"
        )


def _assert_tensor_close(seen: Any, expected: Tensor, message: str) -> None:
    assert isinstance(seen, Tensor), _because(message, f"{describe(seen)} was found")
    assert seen.shape == expected.shape, _because(message, f"its shape is {seen.shape}")
    assert seen.dtype == expected.dtype, _because(message, f"its dtype is {seen.dtype}")
    if expected.value is None:
        raise ValueError(
            f"the expected tensor of shape {expected.shape} is too large to compare: make it smaller"
        )
    assert seen.value is not None, _because(message, "its values cannot be read")
    assert _close(seen.value, expected.value, TOLERANCE.get(expected.dtype, 0.0)), message


def _close(seen: Any, expected: Any, tolerance: float) -> bool:
    """Element by element; a hundredth of the largest element is the floor below which only noise differs."""
    finite = [abs(e) for e in expected if math.isfinite(e)]
    floor = max(finite, default=0.0) / 100
    return all(
        s == e or (math.isfinite(e) and abs(s - e) <= tolerance * max(abs(e), floor))
        for s, e in zip(seen, expected, strict=True)
    )


def _because(message: str, reason: str) -> str:
    return f"{message.rstrip('.')} ({reason})."


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
