"""Outside: measures everything side by side, prints the tables and writes RESULTS.md with its picture.

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
from statistics import median

import anatomy
import cage_cost
import cold
import report
import scale
import throughput
from group import Group
from measure import MeasureError

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes:
        command: what repeats it.
        size: notebooks of a class where its size is not the question.
        rounds: for the throughput, one notebook cold, the sizes and the profile.
        sizes: of classes.
        cage_seconds: how long the cage is measured, for each task.
    """

    command: str
    size: int
    rounds: tuple[int, int, int, int]
    sizes: tuple[int, ...]
    cage_seconds: float


USUAL = Plan("make bench", 200, (5, 7, 3, 3), (1, 10, 50, 200), 40.0)
LONG = Plan("make bench LONG=1", 200, (7, 7, 2, 3), (1, 10, 50, 200, 1_000, 5_000), 40.0)
QUICK = Plan("python benchmarks/run.py --quick", 20, (1, 1, 1, 1), (1, 5, 20), 3.0)


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
    parser.add_argument(
        "--keep-profile", type=Path, metavar="FILE", help="only the profile, kept as an earlier state"
    )
    arguments = parser.parse_args()
    plan = arguments.plan or USUAL
    try:
        with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
            if arguments.keep_profile:
                anatomy.anatomy(Path(folder), plan.size, plan.rounds[3]).write(arguments.keep_profile)
            else:
                measure(plan, Path(folder), None if plan is QUICK else HERE)
    except MeasureError as error:
        sys.exit(f"benchmarks: {error}")
    except KeyboardInterrupt:
        sys.exit("\nbenchmarks: stopped; nothing was written")


def measure(plan: Plan, folder: Path, results: Path | None) -> None:
    """Measure everything; with a folder for the results, write them there."""
    machine = report.Machine.here(plan.command, _how_counted())
    rounds = plan.rounds
    sections = [throughput.section(speed := throughput.throughput(folder, plan.size, rounds[0]))]
    report.show(sections[-1])
    sections.append(cold.section(cold.cold(folder, rounds[1])))
    report.show(sections[-1])
    sections.append(scale.section(sizes := scale.scale(folder, plan.sizes, rounds[2])))
    report.show(sections[-1])
    sections.append(
        anatomy.section(anatomy.anatomy(folder, plan.size, rounds[3]), anatomy.Anatomy.read(anatomy.BEFORE))
    )
    report.show(sections[-1])
    sections.append(cage_cost.section(*cage_cost.cage_cost(plan.cage_seconds)))
    report.show(sections[-1])
    if results is None:
        return
    from plot import draw  # noqa: PLC0415 - a second of import, and memory, that nothing before needs

    others = {name.strip("`"): median(s) for name, s in list(speed.seconds.items())[1:]}
    draw(results / scale.PICTURE, sizes, others)
    report.write(results / "RESULTS.md", machine, sections)
    sys.stdout.write(f"{results / 'RESULTS.md'} is written.\n")


def _how_counted() -> str:
    with Group() as group:
        if group.is_real:
            return "counted by a control group of the kernel's, for every process that was ever in it"
    return "counted by the processes that waited for each other (as root, a control group would be used)"


if __name__ == "__main__":
    main()
