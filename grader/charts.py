"""Outside: the charts of the report, drawn by Altair without a network and kept until their data change.

Colours are variables of the page (``--full`` ...): one drawing is right in light, in dark and in print.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from grader.errors import BrokenRunError
from grader.own_code import own_code_sha256
from grader.summary import AssignmentSummary

if TYPE_CHECKING:
    import altair as alt

    from grader.folder import ResultsFolder

CHARTS = ".charts"
#: How a question ended; the page has a variable of the same name for the colour of each.
OUTCOMES = ("full", "part", "nothing", "unanswered")
_NAMES = ("in full", "in part", "nothing", "not answered")
_WIDTH = 300  # pixels: with its axis a chart is as wide as a phone
_MOST_BARS, _MOST_TICKS = 40, 8
_STEPS = (0.5, 1, 2, 5, 10, 20, 50, 100)
_LEAST_SHARE = 0.09  # a number does not fit into a narrower piece of a bar


class Charts:
    """Charts as SVG that may stand in a page as it is.

    Args:
        stored: charts of the run before, by what they were drawn from.
    """

    def __init__(self, stored: Mapping[str, str] | None = None) -> None:
        self._stored = stored or {}
        self._used: dict[str, str] = {}

    @classmethod
    def load(cls, folder: Path) -> Charts:
        """The charts that lie in a results folder; none where they are not what was stored."""
        try:
            digest, _, text = (folder / CHARTS).read_text(encoding="utf-8").partition("\n")
        except (OSError, ValueError):
            return cls()
        return cls(json.loads(text) if digest == _sha256(text) else None)

    def save(self, folder: ResultsFolder) -> None:
        """Keep what was used for the next run; without it that run draws again."""
        if self._used != self._stored:
            text = json.dumps(self._used)
            with contextlib.suppress(BrokenRunError):
                folder.write(folder.path / CHARTS, f"{_sha256(text)}\n{text}")

    def scores(self, summary: AssignmentSummary) -> Markup:
        """How many submissions have which score."""
        counts = sorted(Counter(summary.scores).items())
        greatest = max(summary.max_score, *summary.scores)  # of an older course, with more points
        return self._drawn(_scores, counts, greatest)

    def questions(self, summary: AssignmentSummary) -> Markup:
        """Which part of the submissions earned each question in full, in part, not at all."""
        return self._drawn(_questions, [[q.id, *q.outcomes] for q in summary.questions])

    def _drawn(self, chart: Callable[..., alt.TopLevelMixin], *data: Any) -> Markup:
        key = _sha256(json.dumps([own_code_sha256(), chart.__name__, *data]))
        svg = self._used.get(key) or self._stored.get(key) or _svg(chart(*data))
        self._used[key] = svg
        return Markup(svg)  # noqa: S704 - drawn here, and its texts are escaped by the one who draws


def _svg(chart: Any) -> str:
    import vl_convert  # noqa: PLC0415 - half a second, which only a changed class pays

    sizes = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    config = {
        "aria": False,  # the page says in words what a chart shows
        "background": "transparent",
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": {
            **sizes,
            **dict.fromkeys(("labelColor", "titleColor", "domainColor", "tickColor"), "currentColor"),
            "gridColor": "var(--line)",
        },
        "legend": {
            **sizes,
            "labelColor": "currentColor",
            "title": None,
            "orient": "top",
            "symbolType": "square",
            "columnPadding": 8,
        },
    }
    # No address is allowed: what is drawn stands in the chart.
    return vl_convert.vegalite_to_svg({**chart.to_dict(), "config": config}, allowed_base_urls=[])


def _scores(counts: list[tuple[float, int]], max_score: float) -> alt.TopLevelMixin:
    """A bar for each score, or for each few points of many; ``counts`` holds (score, submissions)."""
    import altair as alt  # noqa: PLC0415

    step, between = _step(max_score, _MOST_BARS), _step(max_score, _MOST_TICKS)
    extent = [-step / 2, max_score + step / 2]  # a bar stands over its score
    ticks = alt.Axis(
        values=[between * n for n in range(int(max_score / between) + 1)], format="~g", grid=False
    )
    values = alt.InlineData([{"score": score, "submissions": number} for score, number in counts])
    middle = median(score for score, number in counts for _ in range(number))
    bars = (
        alt.Chart(values)
        .mark_bar(color="var(--full)")
        .encode(
            x=alt.X("score:Q", bin=alt.Bin(extent=extent, step=step, nice=False), axis=ticks, title="score"),
            y=alt.Y("sum(submissions):Q", title="submissions", axis=alt.Axis(tickMinStep=1)),
        )
    )
    rule = (
        alt.Chart(alt.InlineData([{"median": middle}]))
        .mark_rule(color="currentColor", strokeDash=[4, 3])
        .encode(x=alt.X("median:Q", axis=ticks, scale=alt.Scale(domain=extent, nice=False), title="score"))
    )
    layered: alt.LayerChart = bars + rule
    return layered.properties(width=_WIDTH, height=150)


def _step(max_score: float, parts: int) -> float:
    """The roundest step that divides the points into so many parts at most."""
    return next((step for step in _STEPS if max_score / step <= parts), max_score / parts)


def _questions(outcomes: list[list[Any]]) -> alt.TopLevelMixin:
    """A bar for each question, divided by how it ended; ``outcomes`` holds [id, number of each outcome]."""
    import altair as alt  # noqa: PLC0415

    pieces = [
        {"question": question, "ended": name, "place": place, "n": number, "share": number / sum(numbers)}
        for question, *numbers in outcomes
        for place, (name, number) in enumerate(zip(_NAMES, numbers, strict=True))
        if number
    ]
    colours = alt.Scale(domain=_NAMES, range=[f"var(--{outcome})" for outcome in OUTCOMES])
    inks = alt.Scale(domain=_NAMES, range=[f"var(--on-{outcome})" for outcome in OUTCOMES])
    base = alt.Chart(alt.InlineData(pieces)).encode(
        y=alt.Y("question:N", sort=[question for question, *_ in outcomes], title=None),
        order=alt.Order("place:Q"),
    )
    share = alt.X(
        "n:Q", stack="normalize", title="part of the submissions", axis=alt.Axis(format="%", tickCount=5)
    )
    bars = base.mark_bar(stroke="var(--page)").encode(
        x=share, color=alt.Color("ended:N", scale=colours, sort=_NAMES)
    )
    numbers = (
        base.transform_calculate(text=f"datum.share < {_LEAST_SHARE} ? '' : datum.n")
        .mark_text(fontSize=12)
        .encode(
            x=alt.X("n:Q", stack="normalize", bandPosition=0.5),
            text="text:N",
            color=alt.Color("ended:N", scale=inks, legend=None, sort=_NAMES),
        )
    )
    layered: alt.LayerChart = (bars + numbers).resolve_scale(color="independent")
    return layered.properties(width=_WIDTH, height=alt.Step(26))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
