"""Measures everything side by side, prints the tables and writes RESULTS.md.

python benchmarks/run.py           some ten minutes
python benchmarks/run.py --long    classes of up to 5,000, too
python benchmarks/run.py --quick   few rounds, to try the benchmarks themselves; writes nothing
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import breakdown
import cage_cost
import cold
import report
import scale
import throughput
from measure import MeasureError

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    command: str  # what repeats it
    size: int  # notebooks of a class where its size is not the question
    rounds: tuple[int, int, int]  # for the throughput, one notebook cold and the sizes
    sizes: tuple[int, ...]  # of classes
    cage_seconds: float  # how long the cage is measured, for each task


USUAL = Plan("make bench", 200, (5, 7, 3), (1, 10, 50, 200), 40.0)
LONG = Plan("make bench LONG=1", 200, (7, 7, 2), (1, 10, 50, 200, 1_000, 5_000), 40.0)
QUICK = Plan("python benchmarks/run.py --quick", 20, (1, 1, 1), (1, 5, 20), 3.0)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Measure what grading costs.")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--long", dest="plan", action="store_const", const=LONG, help="classes of up to 5,000, too"
    )
    chosen.add_argument(
        "--quick", dest="plan", action="store_const", const=QUICK, help="a trial that writes nothing"
    )
    arguments = parser.parse_args()
    plan = arguments.plan or USUAL
    try:
        with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
            measure(plan, Path(folder), None if plan is QUICK else HERE)
    except MeasureError as error:
        sys.exit(f"benchmarks: {error}")
    except KeyboardInterrupt:
        sys.exit("\nbenchmarks: stopped; nothing was written")


def measure(plan: Plan, folder: Path, results: Path | None) -> None:
    """Measure everything; with a folder for the results, write them there."""
    facts, sections = report.machine(plan.command), []
    for section in (
        lambda: throughput.section(throughput.throughput(folder, plan.size, plan.rounds[0])),
        lambda: cold.section(cold.cold(folder, plan.rounds[1])),
        lambda: scale.section(scale.scale(folder, plan.sizes, plan.rounds[2])),
        lambda: breakdown.section(breakdown.breakdown(folder, plan.size)),
        lambda: cage_cost.section(*cage_cost.cage_cost(plan.cage_seconds)),
    ):
        sections.append(section())
        print(f"{sections[-1].markdown()}\n", flush=True)  # noqa: T201 - what it is for
    if results:
        report.write(results / "RESULTS.md", facts, sections)
        print(f"{results / 'RESULTS.md'} is written.")  # noqa: T201


if __name__ == "__main__":
    main()
