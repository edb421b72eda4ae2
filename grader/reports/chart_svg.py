"""Outside: the report's charts as SVG, drawn by Altair; nothing is fetched for them.

Colours are variables of the page (``--full`` ...): one drawing is right in light, in dark and in print.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import altair as alt
import vl_convert

#: How a question ended; the page has a variable of the same name for the colour of each.
_OUTCOMES = ("full", "part", "nothing", "unanswered")
_NAMES = ("in full", "in part", "nothing", "not answered")
_WIDTH = 300  # pixels: with its axis a chart is as wide as a phone
_MOST_BARS, _MOST_TICKS = 40, 8
_STEPS = (0.5, 1, 2, 5, 10, 20, 50, 100)
_LEAST_SHARE = 0.09  # a number does not fit into a narrower piece of a bar


def scores(counts: Sequence[tuple[float, int]], max_score: float) -> str:
    """A bar for each score, or for each few points of many; ``counts`` holds (score, submissions)."""
    step, between = _step(max_score, _MOST_BARS), _step(max_score, _MOST_TICKS)
    extent = [-step / 2, max_score + step / 2]  # a bar stands over its score
    ticks = alt.Axis(
        values=[between * n for n in range(int(max_score / between) + 1)], format="~g", grid=False
    )
    values = alt.InlineData([{"score": score, "submissions": number} for score, number in counts])
    few = min(5, max(number for _, number in counts))  # or Vega writes 0.5 of a submission
    middle = median(score for score, number in counts for _ in range(number))
    bars = (
        alt.Chart(values)
        .mark_bar(color="var(--full)")
        .encode(
            x=alt.X("score:Q", bin=alt.Bin(extent=extent, step=step, nice=False), axis=ticks, title="score"),
            y=alt.Y("sum(submissions):Q", title="submissions", axis=alt.Axis(tickMinStep=1, tickCount=few)),
        )
    )
    rule = (
        alt.Chart(alt.InlineData([{"median": middle}]))
        .mark_rule(color="currentColor", strokeDash=[4, 3])
        .encode(x=alt.X("median:Q", axis=ticks, scale=alt.Scale(domain=extent, nice=False), title="score"))
    )
    layered: alt.LayerChart = bars + rule
    return _svg(layered.properties(width=_WIDTH, height=150))


def questions(outcomes: Sequence[tuple[str, tuple[int, int, int, int]]]) -> str:
    """A bar for each question, divided by how it ended; ``outcomes`` holds (id, number of each outcome)."""
    pieces = [
        {"question": question, "ended": name, "place": place, "n": number, "share": number / sum(numbers)}
        for question, numbers in outcomes
        for place, (name, number) in enumerate(zip(_NAMES, numbers, strict=True))
        if number
    ]
    colours = alt.Scale(domain=_NAMES, range=[f"var(--{outcome})" for outcome in _OUTCOMES])
    inks = alt.Scale(domain=_NAMES, range=[f"var(--on-{outcome})" for outcome in _OUTCOMES])
    base = alt.Chart(alt.InlineData(pieces)).encode(
        y=alt.Y("question:N", sort=[question for question, _ in outcomes], title=None),
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
    return _svg(layered.properties(width=_WIDTH, height=alt.Step(26)))


def _step(max_score: float, parts: int) -> float:
    """The roundest step that divides the points into so many parts at most."""
    return next((step for step in _STEPS if max_score / step <= parts), max_score / parts)


def _svg(chart: alt.LayerChart) -> str:
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
