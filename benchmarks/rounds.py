"""Outside: rounds of measurements in turn (A B C A B C ...): a machine that slows down slows all of them."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

_Cost = TypeVar("_Cost")


@dataclass(frozen=True)
class Spread:
    """The median of some measurements, the least and the greatest of them, and their number."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """The spread of at least one value."""
        return cls(statistics.median(values), min(values), max(values), len(values))

    @classmethod
    def of_ratios(cls, above: Sequence[float], below: Sequence[float]) -> Self:
        """The spread of the ratios within each round."""
        return cls.of([one / other for one, other in zip(above, below, strict=True)])

    def text(self, form: str) -> str:
        """``median (least to greatest)``, each in a format such as ``.2f``; one value stands alone."""
        if self.count == 1:
            return format(self.median, form)
        return f"{self.median:{form}} ({self.low:{form}} to {self.high:{form}})"


def interleaved(title: str, tasks: Mapping[str, Callable[[], _Cost]], rounds: int) -> dict[str, list[_Cost]]:
    """Do all tasks in turn, some rounds of it; returns what each gave, by round."""
    costs: dict[str, list[_Cost]] = {name: [] for name in tasks}
    for number in range(1, rounds + 1):
        for name, task in tasks.items():
            tell(f"{title}, round {number} of {rounds}: {name}")
            costs[name].append(task())
    tell("")
    return costs


def tell(what: str) -> None:
    """Say on one line of the terminal, if there is one, what goes on."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{what}")
        sys.stderr.flush()
