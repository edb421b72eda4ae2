"""Outside: measurements as tables: on the terminal, and as RESULTS.md."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from textwrap import fill

_WIDTH = 110

Row = Sequence[str]


@dataclass(frozen=True)
class Section:
    """One question and its answer.

    Attributes:
        title: the heading.
        text: what a reader has to know, in Markdown.
        head: names of the columns; the first column is aligned to the left, the others to the right.
        rows: the cells of the table.
        remark: what follows from the table.
        picture: name of a picture beside the report, and what it shows; or None.
    """

    title: str
    text: str
    head: Row
    rows: Sequence[Row]
    remark: str = ""
    picture: tuple[str, str] | None = None

    @property
    def table(self) -> list[str]:
        """The lines of the table, in Markdown that is readable as it is."""
        lines = [self.head, *self.rows]
        widths = [max(len(row[place]) for row in lines) for place in range(len(self.head))]
        rule = [
            ("-" * width) if place == 0 else ("-" * (width - 1) + ":") for place, width in enumerate(widths)
        ]
        return [
            _line(self.head, widths),
            f"| {' | '.join(rule)} |",
            *(_line(row, widths) for row in self.rows),
        ]

    def markdown(self) -> str:
        """The section, for the report."""
        parts = [f"## {self.title}", self.text, "\n".join(self.table), fill(self.remark, _WIDTH)]
        if self.picture:
            name, shown = self.picture
            parts.append(f"![{shown}]({name})")
        return "\n\n".join(filter(None, parts))

    def plain(self) -> str:
        """The section, for a terminal: what was measured, without what has to be known about it."""
        return "\n\n".join(filter(None, [self.title, "\n".join(self.table), fill(self.remark, _WIDTH)]))


def _line(row: Row, widths: Sequence[int]) -> str:
    cells = [
        cell.ljust(width) if place == 0 else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return f"| {' | '.join(cells)} |"


@dataclass(frozen=True)
class Machine:
    """Where and when it was measured.

    Attributes:
        facts: by name, as a reader wants them.
    """

    facts: dict[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls, command: str, counted: str) -> Machine:
        """This machine, now.

        Args:
            command: what repeats the measurement.
            counted: how processor time was counted.
        """
        load = " ".join(f"{share:.2f}" for share in os.getloadavg())
        return cls(
            {
                "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
                "repeat": f"`{command}`",
                "kernel": f"{platform.system()} {platform.release()}, {platform.machine()}",
                "processors": f"{len(os.sched_getaffinity(0))}, {_processor()}",
                "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
                "load before": load,
                "Python": platform.python_version(),
                **{package: _version(package) for package in ("torch", "pytest", "otter-grader", "nbgrader")},
                "processor time": counted,
            }
        )


def _processor() -> str:
    """Its name, as Linux knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


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
everything it starts, start-up included."""


def write(path: Path, machine: Machine, sections: Sequence[Section]) -> None:
    """Write the report."""
    facts = "\n".join(
        ["| | |", "| --- | --- |", *(f"| {name} | {fact} |" for name, fact in machine.facts.items())]
    )
    parts = [_HEAD, *(section.markdown() for section in sections), f"## Where and when\n\n{facts}"]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def show(section: Section) -> None:
    """Print a section."""
    sys.stdout.write(section.plain() + "\n\n")
    sys.stdout.flush()
