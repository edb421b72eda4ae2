"""A notebook's cost as the class grows, the memory of the outside, and a run with nothing new."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from classroom import STEM, grade, grade_afresh, make_class
from measure import Cost
from report import Section, Spread, interleaved

_MEGABYTE = 1e6


@dataclass(frozen=True)
class Size:
    """Costs of a class of one size by round: graded, and graded again with nothing new."""

    notebooks: int
    graded: list[Cost]
    again: list[Cost]


def scale(folder: Path, sizes: Sequence[int], rounds: int) -> list[Size]:
    """Grade classes of all sizes in turn."""
    tasks = {f"{size} notebooks": partial(_twice, folder / "scale", size) for size in sizes}
    found = interleaved("scale", tasks, rounds)
    return [
        Size(size, [first for first, _ in pairs], [again for _, again in pairs])
        for size, pairs in zip(sizes, found.values(), strict=True)
    ]


def _twice(folder: Path, size: int) -> tuple[Cost, Cost]:
    """Both runs over a class that is made for them; nothing of it stays on the disk."""
    submissions, out = make_class(folder, STEM, size), folder / "results"
    try:
        return grade_afresh(submissions, out), grade(submissions, out)
    finally:
        shutil.rmtree(folder)


def marginal(small: Size, large: Size) -> list[float]:
    """Processor seconds of one notebook more, between two sizes, by round."""
    more = large.notebooks - small.notebooks
    pairs = zip(large.graded, small.graded, strict=True)
    return [(one.processor - other.processor) / more for one, other in pairs]


def growth(least: Size, base: Size, larger: Size) -> Spread:
    """How many times as much one notebook more costs beyond a size as below it."""
    return Spread.of_ratios(marginal(base, larger), marginal(least, base))


def section(sizes: Sequence[Size]) -> Section:
    """The table, and how much grows."""
    least, most = sizes[0], sizes[-1]
    beyond = [size for size in sizes if size.notebooks > 200] or [most]
    base = sizes[-1 - len(beyond)]
    grown = (
        f"{growth(least, base, size).text('.3f')} times as much up to {size.notebooks:,}" for size in beyond
    )
    memory = Spread.of(
        [(one.peak - other.peak) / _MEGABYTE for one, other in zip(most.graded, least.graded, strict=True)]
    )
    again = Spread.of([cost.wall for cost in most.again])
    return Section(
        "Cost against class size",
        _WHAT.format(stem=STEM),
        _HEAD,
        [_row(before, size) for before, size in zip([None, *sizes], sizes, strict=False)],
        f"One notebook more beyond {base.notebooks} costs, beside one more from {least.notebooks} to "
        f"{base.notebooks}: {', '.join(grown)}. The outside's memory grows by "
        f"{memory.text('.1f')} MB from {least.notebooks} to {most.notebooks}. A run over {most.notebooks} "
        f"unchanged results takes {again.text('.2f')} s.",
    )


_HEAD = (
    *("notebooks", "processor s a notebook", "one more, s", "wall s", "memory, MB"),
    *("again, wall s", "again, memory, MB", "rounds"),
)
_WHAT = """\
Classes of one notebook of `{stem}` to many, each into an empty folder, then once more with nothing new.
"One more" is what each further notebook costs beyond the size in the row above. Memory is the most that the
process which grades had at a time, without those it starts."""


def _row(before: Size | None, size: Size) -> tuple[str, ...]:
    each = Spread.of([cost.processor / size.notebooks for cost in size.graded]).text(".4f")
    one_more = Spread.of(marginal(before, size)).text(".4f") if before else ""
    others = [
        text
        for costs in (size.graded, size.again)
        for text in (
            Spread.of([cost.wall for cost in costs]).text(".2f"),
            Spread.of([cost.peak / _MEGABYTE for cost in costs]).text(".0f"),
        )
    ]
    return (str(size.notebooks), each, one_more, *others, str(len(size.graded)))
