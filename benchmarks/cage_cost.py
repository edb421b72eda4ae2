"""Outside: what the cage costs a notebook.

An idle worker (forked, confined, asked one thing, killed) and the solved notebook of an assignment, observed
whole, each with the cage and without it, in turn: a machine that slows down slows both. Prints the median of
each, and the ratio with its quartiles. Processor time is what the kernel counted for the zygote and its
workers until their last answer; a worker's end is in the wall time alone.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.course import Course
from grader.live import reference_cells
from grader.observer import Limits, observe
from grader.zygote import Worker, Zygote

ROOT = Path(__file__).parent.parent
STEM = "01_leaves"
SECONDS, MOST_ROUNDS, IDLE_WORKERS = 40.0, 60, 10

Cost = tuple[float, float]  # seconds of wall time and of processor time


class _Metered(Zygote):
    """Counts the processor time of all its workers, and its own."""

    spent = 0.0

    @contextmanager
    def worker(self) -> Iterator[Worker]:  # type: ignore[override]
        before = _processor_seconds(self._process.pid)
        with super().worker() as worker:
            yield worker
            self.spent += _processor_seconds(worker.pid)
            self.spent += _processor_seconds(self._process.pid) - before


def main() -> None:
    """Print the table."""
    course = Course.find(ROOT)
    cells, asked = reference_cells(course, STEM), course.rubric(STEM).questionnaire(1, oracle=True)
    work: dict[str, Callable[[_Metered], object]] = {
        f"{IDLE_WORKERS} idle workers": _idle,
        f"{STEM}, observed": lambda zygote: observe(zygote, cells, asked, Limits()),
    }
    with _Metered() as caged, _Metered(sandbox=False) as free:
        rounds = {name: list(_rounds(task, caged, free)) for name, task in work.items()}
        sys.stdout.write(f"protection: {caged.protection.name}\n{_HEAD}")
    for name, costs in rounds.items():
        for place, kind in enumerate(("wall", "processor")):
            sys.stdout.write(_row(name, kind, [(one[place], other[place]) for one, other in costs]))


_HEAD = f"{'':<20}{'':<11}{'caged':>10}{'free':>10}{'ratio':>8}{'quartiles':>14}{'rounds':>8}\n"


def _row(name: str, kind: str, pairs: list[tuple[float, float]]) -> str:
    caged, free = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
    low, middle, high = statistics.quantiles((one / other for one, other in pairs), n=4)
    spread = f"{low:.2f}-{high:.2f}"
    return f"{name:<20}{kind:<11}{caged:>7.1f} ms{free:>7.1f} ms{middle:>8.2f}{spread:>14}{len(pairs):>8}\n"


def _rounds(
    task: Callable[[_Metered], object], caged: _Metered, free: _Metered
) -> Iterator[tuple[Cost, Cost]]:
    """Pairs of costs, caged and free in changing order, after one of each that does not count."""
    end = time.perf_counter() + SECONDS / 2
    for number in range(MOST_ROUNDS + 1):
        order = (caged, free) if number % 2 else (free, caged)
        costs = {zygote: _cost(task, zygote) for zygote in order}
        if number:
            yield costs[caged], costs[free]
        if time.perf_counter() > end and number > 1:
            return


def _cost(task: Callable[[_Metered], object], zygote: _Metered) -> Cost:
    zygote.spent, begun = 0.0, time.perf_counter()
    task(zygote)
    return time.perf_counter() - begun, zygote.spent


def _idle(zygote: _Metered) -> None:
    for _ in range(IDLE_WORKERS):
        with zygote.worker() as worker:
            worker.wire.ask("survey", {"stubs": {}}, 10.0)


def _processor_seconds(pid: int) -> float:
    """What the kernel counted for the first thread of a process; nothing once it has ended."""
    try:
        counted = Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return int(counted.split()[0]) / 1e9


if __name__ == "__main__":
    main()
