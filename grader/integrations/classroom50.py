"""Names of assignments that fit Classroom 50's pattern, and points as whole numbers."""

from __future__ import annotations

from collections.abc import Iterable

from grader.errors import GraderError

_LONGEST_SLUG = 39
_LARGEST_FACTOR = 1000
_ROUNDING = 1e-6  # sums of floats are a little off


def slug_of(stem: str) -> str:
    """The name of an assignment there: ``01-leaves`` for ``01_leaves``; no two stems have the same.

    Raises:
        GraderError: it would be too long.
    """
    slug = stem.replace("_", "-")
    if len(slug) > _LONGEST_SLUG:
        raise GraderError(
            f"{stem} is too long for Classroom 50, which takes {_LONGEST_SLUG} characters: give the"
            " assignment a shorter name, or leave it out by --assignment"
        )
    return slug


def smallest_factor(points: Iterable[float]) -> int:
    """The smallest factor that makes all points whole numbers; 1 where it is above 1,000."""
    every = set(points)
    factors = range(1, _LARGEST_FACTOR + 1)
    return next((factor for factor in factors if all(is_whole(factor * value) for value in every)), 1)


def is_whole(value: float) -> bool:
    """Whether it is a whole number, but for the noise of binary fractions."""
    return abs(value - round(value)) < _ROUNDING


def rounded_down(value: float) -> int:
    """The whole number in it."""
    return int(value + _ROUNDING)
