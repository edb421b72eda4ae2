"""Outside: the picture of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl
from scale import Size

mpl.use("svg")
from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter

_BLUE = "#0b6e99"
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "benchmarks",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
}


def draw(path: Path, sizes: Sequence[Size], levels: Mapping[str, float]) -> None:
    """Processor seconds per notebook against class size, with what other ways cost as levels."""
    with mpl.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
        places = [size.notebooks for size in sizes]
        rounds = [[cost.processor / size.notebooks for cost in size.graded] for size in sizes]
        middle = [median(one) for one in rounds]
        axes.plot(places, middle, "o-", color=_BLUE, zorder=3)
        axes.fill_between(places, [*map(min, rounds)], [*map(max, rounds)], color=_BLUE, alpha=0.2, lw=0)
        axes.annotate("grade", (places[1], middle[1]), (8, 6), textcoords="offset points", color=_BLUE)
        for (name, seconds), style in zip(levels.items(), ("--", "-.", ":", (0, (1, 3))), strict=False):
            axes.axhline(seconds, color="0.35", linestyle=style, linewidth=1)
            side, share = ("right", 0.99) if seconds > middle[0] / 2 else ("left", 0.01)  # not on the curve
            place = axes.get_yaxis_transform()  # x as a share of the width, y as data
            axes.text(share, seconds, name, transform=place, ha=side, va="bottom", color="0.25")
        axes.set(xscale="log", yscale="log", xlabel="notebooks in the class", xticks=places)
        axes.set_ylabel("processor seconds per notebook")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
