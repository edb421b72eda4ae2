"""A check with its author's points, title and hint; and facts described in words."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from grader.contracts.diagnosis import with_article
from grader.errors import CourseError
from grader.sandbox.facts import Raised, Tensor
from grader.text import printable

Function = TypeVar("Function", bound=Callable[..., Any])

MAX_HINT = 1_000  # characters
#: The markers of `points` and `cases`, as pytest has to know them.
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
        hint: the rest of the docstring, which students read where facts are wrong and no other hint is given.
        question: the id of its contract's question.
        contract: the name of its contract.
        is_of_side_effects: whether it passes for an answer that does nothing. It earns points only beside
            checks that do not fail.
        cases: patterns of the factors that may vary in the cases that it is about.
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
    """Say what a check is worth.

    Args:
        number: of points.
        side_effects: the check is about what must be unchanged, so that an answer that does nothing passes
            it. It earns partial credit only if no other check of the question fails for typical inputs.

    Raises:
        CourseError: it is no number, or not positive, or infinite.
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
    """Say which cases a check is about: typical ones, and those in which only these factors vary.

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


def raised(fact: Any, error: type[BaseException], fragment: str = "") -> bool:
    """Whether a fact is an exception of this class, or of a subclass, whose text contains the fragment.

    The fragment should be stable over torch's releases.
    """
    return isinstance(fact, Raised) and error.__name__ in fact.types and fragment in fact.text


def describe(fact: Any) -> str:
    """A fact's kind, in words: ``a tensor``, ``None``, ``an int`` ..."""
    if fact is None:
        return "None"
    if isinstance(fact, Tensor):
        return "a tensor"
    if isinstance(fact, Raised):
        return f"an error ({printable(fact.type[:60])})"
    if isinstance(fact, float):
        return "a float"
    return with_article(printable(str(getattr(fact, "type", type(fact).__name__))[:60]))


def entries(number: int) -> str:
    """As in ``1 entry``."""
    return "1 entry" if number == 1 else f"{number} entries"


def instead(seen: Any, expected: Any) -> str:
    """The kind of a fact beside the expected kind: ``a list, not a tensor``."""
    kind, other = describe(seen), describe(expected)
    return f"{kind}, not {other}" if kind != other else f"{kind} of another class"  # a student's own "list"
