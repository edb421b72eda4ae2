"""The numbers of the report's two kinds of charts; ``templates/charts.html`` draws them with CSS alone.

Widths, heights and positions are percent of the drawing area.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import chain, count

from grader.results.statistics import AssignmentSummary

#: How a question ended; the page has a variable ``--full`` ... for the colour of each.
OUTCOMES = {"full": "in full", "part": "in part", "nothing": "nothing", "unanswered": "not answered"}

_MOST_BARS, _MOST_TICKS, _MOST_COUNTS = 40, 8, 5
_LEAST_SHARE = 9.0  # a number does not fit into a narrower piece of a bar


@dataclass(frozen=True)
class Mark:
    """A bar of a histogram, or a tick of an axis: where it begins or stands, and what it shows."""

    position: float
    value: float
    height: float = 0.0


@dataclass(frozen=True)
class Histogram:
    """How many submissions have which score.

    Attributes:
        bars: those that are not empty; a bar's value is its number of submissions.
        width: of each bar, which stands over its score.
        median: where the median stands.
        scores: ticks of the axis below.
        counts: ticks of the axis beside it.
    """

    bars: list[Mark]
    width: float
    median: float
    scores: list[Mark]
    counts: list[Mark]


@dataclass(frozen=True)
class Piece:
    """A piece of a question's bar: the submissions that ended so; ``text`` is empty in a narrow piece."""

    outcome: str
    number: int
    share: float

    @property
    def text(self) -> str:
        return str(self.number) if self.share >= _LEAST_SHARE else ""


def histogram(summary: AssignmentSummary) -> Histogram:
    """A bar for each score, or for each few points of many."""
    greatest = max(summary.max_score, *summary.scores)  # of an older course, with more points
    step = _step(greatest, _MOST_BARS, 0.5)
    numbers = sorted(Counter(_bar(score, step) for score in summary.scores).items())
    width = 100 / (_bar(greatest, step) + 1)
    most = max(number for _, number in numbers)
    counted = _step(most, _MOST_COUNTS, 1)

    def position(score: float) -> float:
        return (score / step + 0.5) * width

    return Histogram(
        [Mark(bar * width, number, 100 * number / most) for bar, number in numbers],
        width,
        position(summary.median),
        [Mark(position(score), score) for score in _ticks(greatest, _step(greatest, _MOST_TICKS, 0.5))],
        [Mark(100 * number / most, number) for number in _ticks(most, counted)],
    )


def parts_of_bar(summary: AssignmentSummary) -> list[tuple[str, list[Piece]]]:
    """Each question's id with the pieces of its bar: in full, in part, nothing, not answered."""
    return [
        (
            question.id,
            [
                Piece(outcome, number, 100 * number / sum(question.outcomes))
                for outcome, number in zip(OUTCOMES, question.outcomes, strict=True)
                if number
            ],
        )
        for question in summary.questions
    ]


def _bar(score: float, step: float) -> int:
    return math.floor(score / step + 0.5)


def _step(length: float, parts: int, least: float) -> float:
    """The least of 1, 2, 5, 10, 20 ..., or ``least`` itself, that makes so many parts at most."""
    rounded = (float(digit * 10**power) for power in count() for digit in (1, 2, 5))
    return next(step for step in chain([least], rounded) if step >= least and length / step <= parts)


def _ticks(length: float, step: float) -> list[float]:
    return [step * number for number in range(int(length / step) + 1)]
