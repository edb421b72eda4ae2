"""One notebook with everything still to be started, against the import of torch that it needs."""

from __future__ import annotations

import sys
from pathlib import Path

from classroom import STEM, grade_afresh, make_class
from measure import Cost, run
from report import Section, Spread, interleaved

GRADE, IMPORT = "`grade` of one notebook", '`python -c "import torch"`'


def cold(folder: Path, rounds: int) -> dict[str, list[Cost]]:
    """Measure both in turn, after one round that does not count: it reads the files from the disk."""
    submissions = make_class(folder / "cold", STEM, 1)
    imports = [sys.executable, "-c", "import torch"]
    tasks = {
        GRADE: lambda: grade_afresh(submissions, folder / "cold-results"),
        IMPORT: lambda: run(imports, folder=folder),
    }
    interleaved("files into memory", tasks, 1)
    return interleaved("cold", tasks, rounds)


def section(costs: dict[str, list[Cost]]) -> Section:
    """Wall time, because somebody waits for it."""
    grade, torch = ([cost.wall for cost in costs[name]] for name in (GRADE, IMPORT))
    ratio = Spread.of_ratios(grade, torch)
    more = Spread.of([one - other for one, other in zip(grade, torch, strict=True)])
    beyond = Spread.of([one - 1.3 * other for one, other in zip(grade, torch, strict=True)])
    rows = [
        (
            name,
            Spread.of([cost.wall for cost in each]).text(".2f"),
            Spread.of([cost.processor for cost in each]).text(".2f"),
            str(len(each)),
        )
        for name, each in costs.items()
    ]
    return Section(
        "One notebook, cold",
        f"From the command line to the written result of one notebook of `{STEM}`, into an empty folder.",
        ("", "wall seconds", "processor seconds", "rounds"),
        rows,
        f"Wall time: {ratio.text('.2f')} times the import, {more.text('.2f')} s more. The goal is 1.3 times "
        f"the import and 0.3 s; `grade` less 1.3 times the import takes {beyond.text('.2f')} s.",
    )
