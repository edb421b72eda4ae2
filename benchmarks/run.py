"""Measures everything side by side, prints the tables and writes RESULTS.md.

python benchmarks/run.py           some twenty minutes
python benchmarks/run.py --long    a class of 1,000, too
python benchmarks/run.py --quick   two assignments, few rounds, to try the benchmarks; writes nothing
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import breakdown
import cold
import doctor_cost
import hostile_text
import report
import sandbox_cost
import scale
import throughput
from classroom import COURSE
from measure import MeasureError

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    command: str  # what repeats it
    stems: tuple[str, ...]
    more: int  # notebooks that a class has more than another, to measure one of them
    rounds: tuple[int, int, int]  # for the throughput, one notebook cold and the sizes
    sizes: tuple[int, ...]  # of classes
    sandbox_seconds: float  # how long the sandbox is measured, for each task


USUAL = Plan("make bench", COURSE.stems, 10, (2, 5, 1), (1, 10, 50, 200), 20.0)
LONG = replace(USUAL, command="make bench LONG=1", sizes=(1, 10, 50, 200, 1_000))
QUICK = Plan("python benchmarks/run.py --quick", COURSE.stems[:2], 2, (1, 1, 1), (1, 5, 20), 3.0)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Measure what grading costs.")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--long", dest="plan", action="store_const", const=LONG, help="a class of 1,000, too")
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
    for section in _sections(plan, folder):
        sections.append(section)
        print(f"{section.markdown()}\n", flush=True)  # noqa: T201 - what it is for
    if results:
        report.write(results / "RESULTS.md", facts, sections)
        print(f"{results / 'RESULTS.md'} is written.")  # noqa: T201


def _sections(plan: Plan, folder: Path) -> Iterator[report.Section]:
    """Each as soon as it is measured."""
    throughput_rounds, cold_rounds, scale_rounds = plan.rounds
    found = throughput.throughput(folder, plan.stems, plan.more, throughput_rounds)
    yield throughput.section(found, plan.more)
    yield from breakdown.sections(breakdown.breakdown(folder, plan.stems, plan.more))
    yield cold.section(cold.cold(folder, cold_rounds))
    yield scale.section(scale.scale(folder, plan.sizes, scale_rounds))
    yield sandbox_cost.section(*sandbox_cost.sandbox_cost(plan.sandbox_seconds))
    yield hostile_text.section(hostile_text.hostile_text())
    yield doctor_cost.section(doctor_cost.doctor_cost(plan.stems), plan.stems)


if __name__ == "__main__":
    main()
