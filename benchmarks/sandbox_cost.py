"""What the sandbox costs a notebook.

An idle worker (forked, confined, asked one thing, killed) and the solved notebook of an assignment, observed
whole, each with the sandbox and without it, in turn.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from classroom import STEM
from measure import ROOT
from report import Section, tell

from grader.course.course import Course
from grader.notebooks.reader import cells_of
from grader.sandbox.observer import observe
from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import WorkerProcess, Zygote

MOST_ROUNDS, IDLE_WORKERS = 60, 10

Cost = tuple[float, float]  # seconds of wall time and of processor time

_WHAT = """\
The same work with the sandbox (here: {protection}) and without it, in changing order. Processor time is what
the kernel counted for the workers until their last answer; the zygote's fork and a worker's end are in the
wall time alone. In brackets, the quartiles."""


class Metered:
    """A zygote's workers, with the processor time that they have spent until their last answer."""

    def __init__(self, zygote: Zygote) -> None:
        self.spent = 0.0
        self._zygote = zygote

    @contextmanager
    def worker(self) -> Iterator[WorkerProcess]:
        with self._zygote.worker() as worker:
            yield worker
            self.spent += worker.cpu_times().computed


Task = Callable[[Metered], object]


def sandbox_cost(seconds: float) -> tuple[str, dict[str, list[tuple[Cost, Cost]]]]:
    """The protection in force, and for each task its costs, sandboxed and free, by round."""
    course = Course.find(ROOT)
    cells = cells_of(course.assignment(STEM).reference)
    asked = course.rubric(STEM).plan(1)
    work: dict[str, Task] = {
        f"{IDLE_WORKERS} idle workers": _idle,
        f"`{STEM}`, observed": lambda zygote: observe(zygote, cells, asked, TimeLimits()),
    }
    with Zygote() as sandboxed, Zygote(sandbox=False) as free:
        both = Metered(sandboxed), Metered(free)
        rounds = {name: list(_rounds(task, *both, seconds / 2)) for name, task in work.items()}
        return sandboxed.sandbox.name, rounds


def section(protection: str, rounds: dict[str, list[tuple[Cost, Cost]]]) -> Section:
    """The table."""
    rows = [
        _row(name, kind, [(one[place], other[place]) for one, other in costs])
        for name, costs in rounds.items()
        for place, kind in enumerate(("wall", "processor"))
    ]
    head = ("", "time", "sandboxed, ms", "free, ms", "ratio", "rounds")
    return Section("What the sandbox costs", _WHAT.format(protection=protection), head, rows)


def _row(name: str, kind: str, pairs: list[tuple[float, float]]) -> tuple[str, ...]:
    sandboxed, free = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
    low, middle, high = statistics.quantiles((one / other for one, other in pairs), n=4)
    ratio = f"{middle:.2f} ({low:.2f} to {high:.2f})"
    return name, kind, f"{sandboxed:.1f}", f"{free:.1f}", ratio, str(len(pairs))


def _rounds(task: Task, sandboxed: Metered, free: Metered, seconds: float) -> Iterator[tuple[Cost, Cost]]:
    """Pairs of costs, sandboxed and free in changing order, after one of each that does not count."""
    end = time.perf_counter() + seconds
    for number in range(MOST_ROUNDS + 1):
        tell(f"sandbox, round {number}")
        order = (sandboxed, free) if number % 2 else (free, sandboxed)
        costs = {zygote: _cost(task, zygote) for zygote in order}
        if number:
            yield costs[sandboxed], costs[free]
        if time.perf_counter() > end and number > 1:
            break
    tell("")


def _cost(task: Task, zygote: Metered) -> Cost:
    zygote.spent, begun = 0.0, time.perf_counter()
    task(zygote)
    return time.perf_counter() - begun, zygote.spent


def _idle(zygote: Metered) -> None:
    for _ in range(IDLE_WORKERS):
        with zygote.worker() as worker:
            worker.wire.ask("end", None, 10.0)  # it has entered the sandbox when it answers
