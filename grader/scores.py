"""Points: their sums, and their division among the checks of a question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

_PLACES = 9  # decimals that an author may write; those behind them are noise of binary fractions
_HUNDREDTHS = 2


def total(points: Iterable[float]) -> float:
    """The sum of points in decimals: 3.33, 3.33 and 3.34 make exactly 10."""
    return round(math.fsum(points), _PLACES)


def apportioned(points: Sequence[float], worth: float) -> list[float]:
    """The points of checks, each above 0, scaled so that their ``total`` is what their question is worth.

    So that no score has endless digits, shares are cut to hundredths (or finer, where a share would be
    nothing or `worth` is finer). The rest goes to the shares that lost most: ``[1, 1, 1]`` for 10 is
    ``[3.34, 3.33, 3.33]``.
    """
    whole, wanted = sum(map(Fraction, points)), Fraction(repr(worth))
    places = _HUNDREDTHS
    while (wanted * 10**places).denominator > 1:
        places += 1
    while Fraction(min(points)) * wanted * 10**places < whole:
        places += 1
    shares = [Fraction(part) / whole * wanted * 10**places for part in points]
    parts = [math.floor(share) for share in shares]
    left = int(wanted * 10**places) - sum(parts)
    for index in sorted(range(len(parts)), key=lambda index: parts[index] - shares[index])[:left]:
        parts[index] += 1
    return [part / 10**places for part in parts]


def format_points(value: float) -> str:
    """A score without needless digits: ``4`` and ``4.5``."""
    return f"{value:.10g}"


def counted_points(value: float) -> str:
    """Points as in ``1 point`` and ``3.5 points``."""
    return f"{format_points(value)} point{'' if value == 1 else 's'}"


def points_text(score: float, max_score: float, of: str = " of ") -> str:
    """Points as in ``3.5 of 7``, or with another text between them."""
    return f"{format_points(score)}{of}{format_points(max_score)}"


def remarks(checks: Sequence[tuple[str, float]]) -> list[str]:
    """Why checks that hold for typical inputs earned less than they are worth, in sentences.

    Args:
        checks: the outcome of each check, and the points it earned.
    """
    if all(outcome == "passed" for outcome, _ in checks):
        return []
    sentences = []
    if any(points for _, points in checks):
        sentences.append(
            "Until all checks pass, a check that is right for typical inputs earns part of its points."
        )
    if any(outcome in {"passed", "partly"} and not points for outcome, points in checks):
        sentences.append(
            "A check earns nothing while another check fails if the starter code passes it, or if it is about"
            " side effects."
        )
    return sentences
