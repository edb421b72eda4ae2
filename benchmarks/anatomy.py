"""Outside: where the processor time of a class goes, step by step."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from classroom import make_class
from clocked_grade import CAGE, END, ENDS, FORKS, IMPORTS, INSIDE, REST, START, STEPS, UNSEEN
from measure import run
from report import Section
from rounds import interleaved

#: Every step, in the order of a table.
ORDER = (IMPORTS, *STEPS, REST, START, FORKS, CAGE, *INSIDE.values(), ENDS, END, UNSEEN)
BEFORE = Path(__file__).with_name("before.json")


@dataclass(frozen=True)
class Anatomy:
    """Processor seconds of a run by step.

    Attributes:
        size: how many notebooks the class has.
        measured: the day.
        seconds: by step, in the order of a table.
    """

    size: int
    measured: str
    seconds: dict[str, float]

    @property
    def total(self) -> float:
        """All steps together."""
        return sum(self.seconds.values())

    def write(self, path: Path) -> None:
        """Keep it, so that a later one can be compared with it."""
        path.write_text(json.dumps(vars(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """One that was kept, or None."""
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def anatomy(folder: Path, size: int, rounds: int) -> Anatomy:
    """The median of each step over some runs."""
    submissions = make_class(folder / "anatomy", size)
    found = interleaved("profile", {"the class": lambda: _one_run(submissions, folder)}, rounds)["the class"]
    known = {step for seconds in found for step in seconds}
    order = [step for step in ORDER if step in known] + sorted(known.difference(ORDER))
    medians = {step: statistics.median(seconds.get(step, 0.0) for seconds in found) for step in order}
    return Anatomy(size, f"{datetime.now(UTC):%Y-%m-%d}", medians)


def _one_run(submissions: Path, folder: Path) -> dict[str, float]:
    """The steps of one run, and what the kernel counted beyond them."""
    out, told = folder / "anatomy-results", folder / "anatomy.json"
    shutil.rmtree(out, ignore_errors=True)
    script = str(Path(__file__).with_name("clocked_grade.py"))
    cost = run([sys.executable, script, str(submissions), str(out), str(told)])
    seconds: dict[str, float] = json.loads(told.read_text(encoding="utf-8"))
    return {**seconds, UNSEEN: cost.processor - sum(seconds.values())}


def section(found: Anatomy, before: Anatomy | None) -> Section:
    """The table, beside the same of an earlier state where that was kept."""
    former = before.seconds if before else {}
    steps = [*found.seconds, *(step for step in former if step not in found.seconds)]
    rows = [[step, *_figures(found, step)] for step in steps]
    rows.append(["all", f"{found.total:.2f}", _all(found), "100 %"])
    head = ["", "processor s", "ms a notebook", "share"]
    if before:
        head.append(f"before, ms ({before.measured})")
        earlier = [_figures(before, step)[1] for step in steps]
        rows = [[*row, cell] for row, cell in zip(rows, [*earlier, _all(before)], strict=True)]
    return Section("Where it goes", _WHAT.format(size=found.size), head, rows)


def _figures(found: Anatomy, step: str) -> tuple[str, str, str]:
    if step not in found.seconds:
        return "", "", ""
    seconds = found.seconds[step]
    share = f"{seconds / found.total:.0%}".replace("%", " %")
    return f"{seconds:.2f}", f"{seconds * 1000 / found.size:.2f}", share


def _all(found: Anatomy) -> str:
    return f"{found.total * 1000 / found.size:.2f}"


_WHAT = """\
The processor seconds of a class of {size}, step by step, the medians of some runs. The first rows are the
process that grades (each step without those within it, on whichever thread), the others the zygote and its
workers, as the kernel counted them from answer to answer. A worker is asked once more than usual, so that its
way into the cage can be told from its first cell; reading the clocks is part of what is read, so that this
run costs a little more than one without."""
