"""One notebook with everything still to be started, against the import of torch that it needs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from classroom import grade_afresh, make_class
from measure import Cost, run
from report import Section, Spread, interleaved

_GRADE, _IMPORT = "`grade` of one notebook", '`python -c "import torch"`'


@dataclass(frozen=True)
class Cold:
    """Costs by round, of grading one notebook and of importing torch."""

    grade: list[Cost]
    torch: list[Cost]


def cold(folder: Path, rounds: int) -> Cold:
    """Measure both in turn, after one round that does not count: it reads the files from the disk."""
    submissions = make_class(folder / "cold", 1)
    imports = [sys.executable, "-c", "import torch"]
    tasks = {
        _GRADE: lambda: grade_afresh(submissions, folder / "cold-results"),
        _IMPORT: lambda: run(imports, folder=folder),
    }
    interleaved("files into memory", tasks, 1)
    found = interleaved("cold", tasks, rounds)
    return Cold(found[_GRADE], found[_IMPORT])


def section(found: Cold) -> Section:
    """Wall time, because somebody waits for it."""
    grade, torch = [cost.wall for cost in found.grade], [cost.wall for cost in found.torch]
    ratio = Spread.of_ratios(grade, torch)
    more = Spread.of([one - other for one, other in zip(grade, torch, strict=True)])
    beyond = Spread.of([one - 1.3 * other for one, other in zip(grade, torch, strict=True)])
    return Section(
        "One notebook, cold",
        "From the command line to the written result of one notebook, into an empty folder.",
        ("", "wall seconds", "processor seconds", "rounds"),
        [
            (name, *(Spread.of(seconds).text(".2f") for seconds in (wall, processor)), str(len(costs)))
            for name, costs, wall, processor in (
                (_GRADE, found.grade, grade, [cost.processor for cost in found.grade]),
                (_IMPORT, found.torch, torch, [cost.processor for cost in found.torch]),
            )
        ],
        f"Wall time: {ratio.text('.2f')} times the import, {more.text('.2f')} s more. `grade` less 1.3 times "
        f"the import: {beyond.text('.2f')} s, of 0.5 s allowed.",
    )
