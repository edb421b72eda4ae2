"""Outside: one question as other systems see it: points, whether it passed, and a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from grader.scores import total as sum_of

Status = Literal["pass", "fail", "error"]


@dataclass(frozen=True)
class Scored:
    """One question, scored.

    Attributes:
        id: ``q1``, or what else tells it from others.
        title: its heading.
        score: points earned.
        max_score: points that can be earned.
        status: ``pass`` only where all points were earned; ``error`` where nothing could be judged.
        message: what the student is told, or None; it may hold text of a stranger.
        seconds: how long it took.
    """

    id: str
    title: str
    score: float
    max_score: float
    status: Status
    message: str | None = None
    seconds: float = 0.0


def total(scored: Sequence[Scored]) -> tuple[float, float]:
    """Points earned, and points that can be earned."""
    return sum_of(one.score for one in scored), sum_of(one.max_score for one in scored)


def plain(value: float) -> int | float:
    """The number as JSON writes it best: ``4`` and ``4.5``."""
    return int(value) if float(value).is_integer() else value
