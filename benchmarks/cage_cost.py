"""Outside: what the cage costs a notebook.

An idle worker (forked, confined, asked one thing, killed) and the solved notebook of an assignment, observed
whole, each with the cage and without it, in turn.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

from classroom import STEM
from measure import ROOT
from metered import MeteredZygote
from report import Section
from rounds import tell

from grader.course.course import Course
from grader.course.reference import reference_cells
from grader.sandbox.observer import observe
from grader.sandbox.plan import TimeLimits

MOST_ROUNDS, IDLE_WORKERS = 60, 10

Cost = tuple[float, float]  # seconds of wall time and of processor time

_WHAT = """\
The same work with the cage (here: {protection}) and without it, in changing order. Processor time is what
the kernel counted for the zygote and its workers until their last answer; a worker's end is in the wall time
alone. In brackets, the quartiles."""

Task = Callable[[MeteredZygote], object]


def cage_cost(seconds: float) -> tuple[str, dict[str, list[tuple[Cost, Cost]]]]:
    """The protection in force, and for each task its costs, caged and free, by round."""
    course = Course.find(ROOT)
    cells, asked = reference_cells(course, STEM), course.rubric(STEM).plan(1, oracle=True)
    work: dict[str, Task] = {
        f"{IDLE_WORKERS} idle workers": _idle,
        f"`{STEM}`, observed": lambda zygote: observe(zygote, cells, asked, TimeLimits()),
    }
    with MeteredZygote() as caged, MeteredZygote(sandbox=False) as free:
        rounds = {name: list(_rounds(task, caged, free, seconds / 2)) for name, task in work.items()}
        return caged.protection.name, rounds


def section(protection: str, rounds: dict[str, list[tuple[Cost, Cost]]]) -> Section:
    """The table."""
    rows = [
        _row(name, kind, [(one[place], other[place]) for one, other in costs])
        for name, costs in rounds.items()
        for place, kind in enumerate(("wall", "processor"))
    ]
    return Section(
        "What the cage costs",
        _WHAT.format(protection=protection),
        ("", "time", "caged, ms", "free, ms", "ratio", "rounds"),
        rows,
    )


def _row(name: str, kind: str, pairs: list[tuple[float, float]]) -> tuple[str, ...]:
    caged, free = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
    low, middle, high = statistics.quantiles((one / other for one, other in pairs), n=4)
    return (
        name,
        kind,
        f"{caged:.1f}",
        f"{free:.1f}",
        f"{middle:.2f} ({low:.2f} to {high:.2f})",
        str(len(pairs)),
    )


def _rounds(
    task: Task, caged: MeteredZygote, free: MeteredZygote, seconds: float
) -> Iterator[tuple[Cost, Cost]]:
    """Pairs of costs, caged and free in changing order, after one of each that does not count."""
    end = time.perf_counter() + seconds
    for number in range(MOST_ROUNDS + 1):
        tell(f"cage, round {number}")
        order = (caged, free) if number % 2 else (free, caged)
        costs = {zygote: _cost(task, zygote) for zygote in order}
        if number:
            yield costs[caged], costs[free]
        if time.perf_counter() > end and number > 1:
            break
    tell("")


def _cost(task: Task, zygote: MeteredZygote) -> Cost:
    zygote.spent, begun = 0.0, time.perf_counter()
    task(zygote)
    return time.perf_counter() - begun, zygote.spent


def _idle(zygote: MeteredZygote) -> None:
    for _ in range(IDLE_WORKERS):
        with zygote.worker() as worker:
            worker.wire.ask("survey", {"stubs": {}}, 10.0)
