"""Processor seconds per submission, of this grader and of others, on the same notebook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from baselines import baselines
from classroom import NOTEBOOK, STEM, grade_afresh, make_class
from measure import ROOT, Cost, spent
from report import Section, Spread, interleaved

from grader.course.course import Course
from grader.notebooks.reader import read_notebook
from grader.sandbox.observer import observe
from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import Zygote

OURS = "`grade`, a class of {size}"
WARM = "the warm limit"
_WARM_NOTEBOOKS = 50
_PLENTY = TimeLimits(60, 60, 600)


@dataclass(frozen=True)
class Throughput:
    """Processor seconds per submission by way to grade, a number a round; the first way is this grader."""

    seconds: dict[str, list[float]]
    missing: dict[str, str]  # ways that could not be had here, and why


def throughput(folder: Path, size: int, rounds: int) -> Throughput:
    """In turn, this grader over a class, each baseline over one notebook, and the warm limit over some."""
    submissions = make_class(folder, size)
    ready, missing = baselines(folder)
    tasks: dict[str, Callable[[], float]] = {
        OURS.format(size=size): lambda: grade_afresh(submissions, folder / "results").processor / size,
        WARM: _warm,
        **{baseline.name: partial(_processor, baseline.grade) for baseline in ready},
    }
    return Throughput(interleaved("throughput", tasks, rounds), missing)


def _processor(grade: Callable[[], Cost]) -> float:
    return grade().processor


def _warm() -> float:
    """What a notebook costs when everything has been started and nothing is judged or written."""
    return (_observed(1 + _WARM_NOTEBOOKS) - _observed(1)) / _WARM_NOTEBOOKS


def _observed(times: int) -> float:
    """Processor time of both sides, from the zygote's start to its end."""
    cells, asked = read_notebook(NOTEBOOK).cells, Course.find(ROOT).rubric(STEM).plan(1)
    before = spent()
    with Zygote() as zygote:
        for _ in range(times):
            observe(zygote, cells, asked, _PLENTY)
    return spent() - before


def section(found: Throughput) -> Section:
    """The table, with what each way does and leaves out."""
    ours = next(iter(found.seconds.values()))
    rows = [
        (name, Spread.of(each).text(".4f"), Spread.of_ratios(each, ours).text(".2f"), str(len(each)))
        for name, each in found.seconds.items()
    ]
    rows += [(name, why, "", "") for name, why in found.missing.items()]
    return Section(
        "Per submission, beside other ways to grade",
        _WHAT,
        ("", "processor s a submission", "times ours", "rounds"),
        rows,
    )


_WHAT = f"""\
All grade the solved notebook of `{STEM}`. They do not do the same: ours runs every probe, judges the hidden
checks, writes feedback, evidence and results, and pays for the cage; a class pays once for the start. `otter
run` and pytest run the public checks only, which are fewer and easier, in the process of the student's code,
so that they do less work than ours; each starts afresh for every notebook. For pytest, the import of Otter is
left out. The warm limit is what remains of ours when everything is warm already and nothing is judged or
written: one fork, the cells, the probes, and listening to them."""
