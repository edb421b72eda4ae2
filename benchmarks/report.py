"""Measurements in turn (A B C A B C ...), and their tables: on the terminal, and as RESULTS.md."""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from textwrap import fill
from typing import Self, TypeVar

_WIDTH = 110

Row = Sequence[str]
_Cost = TypeVar("_Cost")


@dataclass(frozen=True)
class Spread:
    """The median of some measurements, the least and the greatest of them, and their number."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """The spread of at least one value."""
        return cls(statistics.median(values), min(values), max(values), len(values))

    @classmethod
    def of_ratios(cls, above: Sequence[float], below: Sequence[float]) -> Self:
        """The spread of the ratios within each round."""
        return cls.of([one / other for one, other in zip(above, below, strict=True)])

    def text(self, form: str) -> str:
        """``median (least to greatest)``, each in a format such as ``.2f``; one value stands alone."""
        if self.count == 1:
            return format(self.median, form)
        return f"{self.median:{form}} ({self.low:{form}} to {self.high:{form}})"


def interleaved(title: str, tasks: Mapping[str, Callable[[], _Cost]], rounds: int) -> dict[str, list[_Cost]]:
    """Do all tasks in turn, some rounds of it; returns what each gave, by round."""
    costs: dict[str, list[_Cost]] = {name: [] for name in tasks}
    for number in range(1, rounds + 1):
        for name, task in tasks.items():
            tell(f"{title}, round {number} of {rounds}: {name}")
            costs[name].append(task())
    tell("")
    return costs


def tell(what: str) -> None:
    """Say on one line of the terminal, if there is one, what goes on."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{what}")
        sys.stderr.flush()


@dataclass(frozen=True)
class Section:
    """A question and its answer: what a reader has to know, a table, and what follows from it."""

    title: str
    text: str  # in Markdown
    head: Row
    rows: Sequence[Row]
    remark: str = ""
    words: Collection[int] = (0,)  # the columns that are aligned to the left, the others to the right

    def markdown(self) -> str:
        """The section, for the report; a terminal shows it as it is."""
        lines = [self.head, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        put = [str.ljust if number in self.words else str.rjust for number in range(len(widths))]
        cells = [[to(cell, width) for to, cell, width in zip(put, row, widths, strict=True)] for row in lines]
        ends = ["-" if number in self.words else ":" for number in range(len(widths))]
        cells.insert(1, ["-" * (width - 1) + end for width, end in zip(widths, ends, strict=True)])
        table = "\n".join(f"| {' | '.join(row)} |" for row in cells)
        return "\n\n".join(filter(None, [f"## {self.title}", self.text, table, fill(self.remark, _WIDTH)]))


def machine(command: str) -> dict[str, str]:
    """Where and when it was measured; ``command`` repeats it."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "repeat": f"`{command}`",
        "kernel": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "processors": f"{len(os.sched_getaffinity(0))}, {_processor()}",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "load before": " ".join(f"{share:.2f}" for share in os.getloadavg()),
        "Python": platform.python_version(),
        **{package: _version(package) for package in ("torch", "pytest", "otter-grader")},
    }


def _processor() -> str:
    """Its name, as Linux knows it."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "unknown")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


_HEAD = """\
# What grading costs

Written by `make bench`; do not edit. All that is compared was measured in turn, in rounds (A B C A B C ...):
a machine that slows down slows all of it. A cell shows the median and, in brackets, the least and the
greatest of the rounds; a ratio is taken within each round. Processor seconds are those of a command and of
everything it starts and waits for, start-up included."""


def write(path: Path, facts: Mapping[str, str], sections: Sequence[Section]) -> None:
    """Write the report."""
    rows = [f"| {name} | {fact} |" for name, fact in facts.items()]
    where = "\n".join(["## Where and when", "", "| | |", "| --- | --- |", *rows])
    parts = [_HEAD, *(section.markdown() for section in sections), where]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
