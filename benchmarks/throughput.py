"""Outside: processor seconds per submission, of this grader and of others, on the same notebook."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from baselines import baselines
from classroom import NOTEBOOK, STEM, grade_afresh, make_class
from group import Group
from measure import ROOT, Cost, family_seconds
from metered import MeteredZygote
from report import Section
from rounds import Spread, interleaved

from grader.course.course import Course
from grader.notebooks.reader import read_notebook
from grader.sandbox.observer import observe
from grader.sandbox.plan import TimeLimits

OURS = "`grade`, a class of {size}"
WARM = "the warm limit"
_WARM_NOTEBOOKS = 50
_PLENTY = TimeLimits(60, 60, 600)


@dataclass(frozen=True)
class Throughput:
    """Processor seconds per submission.

    Attributes:
        size: how many notebooks the class has.
        seconds: by way to grade, one number a round; the first is this grader's.
        missing: what could not be had here, and why.
    """

    size: int
    seconds: dict[str, list[float]]
    missing: dict[str, str]

    @property
    def ours(self) -> list[float]:
        """This grader's."""
        return next(iter(self.seconds.values()))

    def ratio(self, name: str) -> Spread:
        """How many times as much another way costs, round by round."""
        return Spread.of_ratios(self.seconds[name], self.ours)


def throughput(folder: Path, size: int, rounds: int) -> Throughput:
    """In turn, this grader over a class, each baseline over one notebook, and the warm limit over some."""
    submissions = make_class(folder, size)
    ready, missing = baselines(folder)
    with ExitStack() as stack:
        warm = _Warm(stack)
        tasks: dict[str, Callable[[], float]] = {
            OURS.format(size=size): lambda: grade_afresh(submissions, folder / "results").processor / size,
            WARM: warm.seconds_per_notebook,
            **{baseline.name: partial(_processor, baseline.grade) for baseline in ready},
        }
        return Throughput(size, interleaved("throughput", tasks, rounds), missing)


def _processor(grade: Callable[[], Cost]) -> float:
    return grade().processor


class _Warm:
    """What is left when everything has been started and nothing is judged or written."""

    def __init__(self, stack: ExitStack) -> None:
        course = Course.find(ROOT)
        self._cells = read_notebook(NOTEBOOK).cells
        self._asked = course.rubric(STEM).plan(1)
        self._group = stack.enter_context(Group())
        self._zygote = stack.enter_context(MeteredZygote())
        self._group.add(self._zygote.pid)
        observe(self._zygote, self._cells, self._asked, _PLENTY)

    def seconds_per_notebook(self) -> float:
        """Processor time of both sides."""
        begun = self._spent()
        for _ in range(_WARM_NOTEBOOKS):
            observe(self._zygote, self._cells, self._asked, _PLENTY)
        return (self._spent() - begun) / _WARM_NOTEBOOKS

    def _spent(self) -> float:
        inside = self._group.seconds() if self._group.is_real else family_seconds(self._zygote.pid)
        return inside + time.process_time()


def section(found: Throughput) -> Section:
    """The table, with what each way does and leaves out."""
    rows = [
        (name, Spread.of(seconds).text(".4f"), found.ratio(name).text(".2f"), str(len(seconds)))
        for name, seconds in found.seconds.items()
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
