"""Where the processor time of a class goes: packages by cProfile, the zygote and its workers by the kernel.

python benchmarks/breakdown.py SUBMISSIONS OUT SECONDS.json    grades, profiled, and writes what it took
"""

from __future__ import annotations

import cProfile
import json
import pstats
import resource
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

from classroom import make_class
from measure import run
from report import Section

_MOST_ROWS = 12
INSIDE, THREADS, REST = "zygote and workers", "other threads of the outside", "other packages"
_WHAT = """\
Processor seconds of a class of {size}, graded once under cProfile, which slows the first thread of the
outside. Its time is shown by package, each without the packages that it calls. The kernel counted the zygote
and its workers."""


def breakdown(folder: Path, size: int) -> tuple[int, dict[str, float]]:
    """The size of the class, and seconds by package."""
    out, told = folder / "breakdown-results", folder / "breakdown.json"
    shutil.rmtree(out, ignore_errors=True)
    submissions = make_class(folder / "breakdown", size)
    run([sys.executable, __file__, str(submissions), str(out), str(told)])
    seconds: dict[str, float] = json.loads(told.read_text(encoding="utf-8"))
    return size, seconds


def section(found: tuple[int, dict[str, float]]) -> Section:
    """The table, with what costs most first."""
    size, seconds = found
    total = sum(seconds.values())
    most = dict(Counter(seconds).most_common(_MOST_ROWS))
    rows = {**most, REST: total - sum(most.values()), "all": total}
    cells = [
        (name, f"{spent:.2f}", f"{spent * 1000 / size:.2f}", f"{100 * spent / total:.0f} %")
        for name, spent in rows.items()
    ]
    return Section(
        "Where it goes", _WHAT.format(size=size), ("", "processor s", "ms a notebook", "share"), cells
    )


def package(file: str) -> str:
    """The package of a source file: ``grader.results``, ``jinja2``, ``json``."""
    path = Path(file)
    if file.startswith(("~", "<")) or not path.is_absolute():
        return "builtins and imports"
    for root in map(Path, sorted(filter(None, sys.path), key=len, reverse=True)):
        if path.is_relative_to(root):
            first, *others = path.relative_to(root).with_suffix("").parts
            return f"{first}.{others[0]}" if first == "grader" and others else first
    return path.stem


def main() -> None:
    """Grade, and write the seconds."""
    from grader import cli  # noqa: PLC0415 - what this script's importers need not load

    submissions, out, told = sys.argv[1:]
    profiler = cProfile.Profile(time.thread_time)
    profiler.runcall(cli.main, ["grade", submissions, "--out", out], standalone_mode=False)
    seconds: Counter[str] = Counter()
    for (file, _, _), (_, _, own, *_) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        seconds[package(file)] += own
    seconds[THREADS] = time.process_time() - time.thread_time()
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds[INSIDE] = ended.ru_utime + ended.ru_stime
    Path(told).write_text(json.dumps(seconds), encoding="utf-8")


if __name__ == "__main__":
    main()
