"""When two numbers count as the same, and two facts of the same shape beside each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

#: Relative (and, scaled by the largest element, absolute) tolerance by dtype; other dtypes have to be exact.
#: A number counts as float32's, because most often it is a float32's .item().
TOLERANCE = {
    "torch.float64": 1e-5,
    "torch.complex128": 1e-5,
    "torch.float32": 1e-4,
    "torch.complex64": 1e-4,
    "torch.float16": 1e-2,
    "torch.bfloat16": 1e-2,
}


def is_number(fact: Any) -> bool:
    """Whether it is an int or a float, and no bool."""
    return isinstance(fact, int | float) and not isinstance(fact, bool)


#: A right answer may be so many times as far from the reference as the reference moves.
_MOVED = 4


def rounding_of(fact: Any) -> float:
    """How far a right answer may be from a fact of the reference, however small that is."""
    if isinstance(fact, list | tuple):
        return max(map(rounding_of, fact), default=0.0)
    return _MOVED * getattr(fact, "noise", 0.0)


def are_close(
    seen: Sequence[float], expected: Sequence[float], tolerance: float, rounding: float = 0.0
) -> list[bool]:
    """Whether each element is as expected; below a hundredth of the largest element only noise differs.

    The `tolerance` is relative, the `rounding` is absolute: the larger counts.
    """
    floor = max((abs(e) for e in expected if math.isfinite(e)), default=0.0) / 100
    return [
        s == e or (math.isfinite(e) and abs(s - e) <= max(tolerance * max(abs(e), floor), rounding))
        for s, e in zip(seen, expected, strict=True)
    ]


def have_all_digits(seen: Sequence[float], expected: Sequence[float]) -> bool:
    """Whether elements of float64 are right to more digits than those of float32."""
    noise = 1e-9 * max(1.0, *(abs(e) for e in expected if math.isfinite(e)), 0.0)
    return all(
        s == e or math.isclose(s, e, abs_tol=noise) or not math.isfinite(e)
        for s, e in zip(seen, expected, strict=True)
    )


def decimals_of(seen: Sequence[float], expected: Sequence[float]) -> int | None:
    """The decimals to which the expected numbers have to be rounded to give the seen numbers, or None."""
    if list(seen) == list(expected):
        return None
    return next((d for d in range(10) if [round(e, d) for e in expected] == list(seen)), None)


def to_decimals(decimals: int, numbers: int) -> str:
    """As in `` to 4 decimals``; empty for one or two numbers, which may end in zeros by chance."""
    return "" if numbers < 3 else f" to {decimals} decimal{'' if decimals == 1 else 's'}"


@dataclass(frozen=True)
class Pair:
    """Two facts of the same shape."""

    seen: Sequence[float]
    expected: Sequence[float]
    shape: tuple[int, ...]
    tolerance: float
    rounding: float = 0.0

    @cached_property
    def right(self) -> list[bool]:
        """Which elements are as expected."""
        return are_close(self.seen, self.expected, self.tolerance, self.rounding)

    @cached_property
    def wrong(self) -> list[tuple[float, float]]:
        """The wrong elements, seen and expected."""
        return [(s, e) for s, e, good in zip(self.seen, self.expected, self.right, strict=True) if not good]

    @property
    def rows(self) -> int:
        """The number of entries along the first dimension."""
        return self.shape[0] if self.shape else 1

    def row(self, numbers: Sequence[float], index: int) -> Sequence[float]:
        """An entry along the first dimension."""
        length = len(numbers) // self.rows
        return numbers[index * length : (index + 1) * length]

    def is_seen(self, numbers: Sequence[float]) -> bool:
        """Whether these numbers are what was seen."""
        return all(are_close(self.seen, numbers, self.tolerance))
