"""A hidden check with its author's points, title and hint; and descriptions of values."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from grader.contracts.diagnosis import with_article
from grader.errors import CourseError
from grader.sandbox.values import Raised, Tensor
from grader.text import printable

Function = TypeVar("Function", bound=Callable[..., Any])

MAX_HINT = 1_000  # characters
#: The markers of `points` and `cases`, which must be registered with pytest.
MARKERS = (
    "points(number, side_effects=False): what a hidden check is worth",
    "cases(*factors): which factors of a contract may vary in the cases that a hidden check is about",
)


@dataclass(frozen=True)
class Check:
    """A hidden check, without its verdict.

    Attributes:
        id: the name of the test function.
        title: the first line of its docstring, which students read.
        hint: the rest of the docstring, which students read if a value is wrong and the message has no hint.
        question: the id of its contract's question.
        contract: the name of its contract.
        is_of_side_effects: whether an answer that does nothing passes it. It earns points only if no other
            check fails.
        cases: patterns of the factors that may vary in its cases.
    """

    id: str
    title: str
    hint: str | None
    points: float
    question: str
    contract: str
    is_of_side_effects: bool = False
    cases: tuple[str, ...] = ("*",)


def points(number: float, *, side_effects: bool = False) -> pytest.MarkDecorator:
    """Set the points of a check.

    Args:
        number: of points.
        side_effects: an answer that does nothing passes the check. It earns partial credit only if no other
            check of the question fails for typical inputs.

    Raises:
        CourseError: the number is not a positive finite number.
    """
    if callable(number):
        raise CourseError("write @points(2): a check is worth a number of points")
    if not isinstance(number, int | float) or not 0 < number < math.inf:
        raise CourseError(f"@points({number!r}): a check is worth a number of points, more than nothing")
    return pytest.mark.points(number, side_effects=side_effects)


def points_of(function: Callable[..., Any]) -> tuple[float, bool]:
    """The points of a check, 1 if its author set none, and whether it is about side effects."""
    marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "points"]
    return (float(marks[0].args[0]), marks[0].kwargs["side_effects"]) if marks else (1.0, False)


def cases(*factors: str) -> pytest.MarkDecorator:
    """Restrict a check to typical cases, and cases in which only these factors vary.

    Args:
        factors: patterns, as in ``@cases("mask.*")``; without any, the check is about typical cases only.
    """
    return pytest.mark.cases(*factors)


def cases_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The patterns of the factors that may vary in the cases of a check."""
    marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "cases"]
    return marks[0].args if marks else ("*",)


def title_and_hint(function: Callable[..., Any]) -> tuple[str, str | None]:
    """The first line of a check's docstring, and the rest with a line for each paragraph.

    Raises:
        CourseError: there is no docstring.
    """
    text = inspect.getdoc(function)
    if not text:
        code = function.__code__
        where = f"{code.co_filename}, line {code.co_firstlineno}: {function.__name__}"
        raise CourseError(f"{where} has no docstring: its first line is the title students read")
    title, _, rest = text.partition("\n")
    paragraphs = [" ".join(block.split()) for block in rest.split("\n\n")]
    return title.strip().rstrip("."), "\n\n".join(p for p in paragraphs if p) or None


def raised(value: Any, error: type[BaseException], fragment: str = "") -> bool:
    """Whether a value is an exception of this class whose text contains the fragment.

    Choose a fragment that is the same in all releases of torch.
    """
    return isinstance(value, Raised) and error.__name__ in value.types and fragment in value.text


def describe(value: Any) -> str:
    """The type of a value, in words: ``a tensor``, ``None``, ``an int`` ..."""
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return "a tensor"
    if isinstance(value, Raised):
        return f"an error ({printable(value.type[:60])})"
    if isinstance(value, float):
        return "a float"
    return with_article(printable(str(getattr(value, "type", type(value).__name__))[:60]))


def entries(number: int) -> str:
    """A number of entries, such as ``1 entry``."""
    return "1 entry" if number == 1 else f"{number} entries"


def instead(seen: Any, expected: Any) -> str:
    """The type of a value and the expected type: ``a list, not a tensor``."""
    kind, other = describe(seen), describe(expected)
    return f"{kind}, not {other}" if kind != other else f"{kind} of another class"  # a student's own "list"
