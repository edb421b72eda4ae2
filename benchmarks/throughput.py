"""Processor seconds of a submission of each assignment, of this grader and of `otter run`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean

from classroom import grade_afresh, make_class
from measure import Cost
from otter_run import OTTER, is_installed, otter_run
from report import Section, Spread, interleaved

OURS = "`grade`, one more"


@dataclass(frozen=True)
class Throughput:
    """Costs of one more notebook in a class, and of `otter run`, by assignment, one a round.

    Without Otter, nothing is in ``otter``.
    """

    ours: dict[str, list[Cost]]
    otter: dict[str, list[Cost]]


def throughput(folder: Path, stems: Sequence[str], more: int, rounds: int) -> Throughput:
    """In turn, of each assignment a notebook more in a class, and `otter run` of the same notebook."""
    tasks: dict[str, Callable[[], Cost]] = {}
    for stem in stems:
        classes = make_class(folder, stem, 1), make_class(folder, stem, 1 + more)
        tasks[f"{OURS}, {stem}"] = partial(one_more, *classes, folder / "results" / stem, more)
        if is_installed():
            tasks[f"{OTTER}, {stem}"] = otter_run(folder / "otter" / stem, stem)
    costs = interleaved("throughput", tasks, rounds)
    ours, otter = (
        {stem: costs[f"{way}, {stem}"] for stem in stems if f"{way}, {stem}" in costs}
        for way in (OURS, OTTER)
    )
    return Throughput(ours, otter)


def one_more(small: Path, large: Path, out: Path, more: int) -> Cost:
    """What each notebook costs that a class has more than another; the results of the larger stay."""
    one, other = grade_afresh(small, out), grade_afresh(large, out)
    more_wall, more_processor = other.wall - one.wall, other.processor - one.processor
    return Cost(more_wall / more, more_processor / more, other.peak)


def section(found: Throughput, more: int) -> Section:
    """The table, and the ratio to quote."""
    ours, otter = (
        {stem: _processor(costs) for stem, costs in way.items()} for way in (found.ours, found.otter)
    )
    rows = [_row(f"`{stem}`", each, otter.get(stem)) for stem, each in ours.items()]
    means = _mean(ours), _mean(otter) if otter else None
    name = f"the mean of all {len(ours)}"
    ratio = Spread.of_ratios(means[1], means[0]).text(".1f") if means[1] else ""
    quote = f"To quote: {ratio} times, which is the ratio of the means of all {len(ours)}, by round."
    return Section(
        "Per submission, beside `otter run`",
        _WHAT.format(small=1, large=1 + more),
        ("", f"{OURS}, processor s", f"{OTTER}, processor s", "ratio", "rounds"),
        [*rows, _row(name, *means)],
        quote if otter else "",
    )


def _processor(costs: Sequence[Cost]) -> list[float]:
    return [cost.processor for cost in costs]


def _mean(seconds: dict[str, list[float]]) -> list[float]:
    """The mean of all assignments, by round."""
    return [fmean(each) for each in zip(*seconds.values(), strict=True)]


def _row(name: str, ours: Sequence[float], otter: Sequence[float] | None) -> tuple[str, ...]:
    other = ("not installed", "")
    if otter:
        other = Spread.of(otter).text(".2f"), Spread.of_ratios(otter, ours).text(".1f")
    return name, Spread.of(ours).text(".3f"), *other, str(len(ours))


_WHAT = """\
The notebook of each assignment with the reference answers, graded by both. One more is what each notebook
costs beyond the first: a class of {large} less a class of {small}, divided. The start, the reference and the
stubs are paid once for a class, and are not in it. They do not do the same: `grade` observes every contract,
judges the hidden checks, writes feedback, evidence and results, and pays for the sandbox. `otter run` runs
the public checks only, which are fewer and easier, in the process of the student's code, and starts afresh
for every notebook, as it is installed: of its time, two fifths are the import of a grammar of addresses
(`rfc3987_syntax`), which Jupyter's server brings and neither of the two needs."""
