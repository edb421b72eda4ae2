"""On a student's machine: checks a notebook whenever it is saved, and says what that changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.control import Control
from rich.text import Text

from grader.errors import GraderError
from grader.student.check import check
from grader.student.display import mark, tell, working
from grader.student.notebook import open_exercise
from grader.student.process import Supply
from grader.student.report import Findings
from grader.text import inert


class Watcher:
    """Knows how each notebook stood the last time it was looked at.

    Args:
        to: where to say it.
        seconds: how long a cell, or a test, may take.
        supply: where processes come from.
    """

    def __init__(self, to: Console, seconds: float, supply: Supply) -> None:
        self._to = to
        self._seconds = seconds
        self._supply = supply
        self._last: dict[Path, Findings] = {}
        self._seen: dict[Path, tuple[str, ...]] = {}

    def watch(self, saved: Iterable[Iterable[Path]]) -> None:
        """Look at every notebook that was saved, until there are no more."""
        for paths in saved:
            for path in sorted(paths):
                self.look(path)

    def look(self, path: Path) -> None:
        """Check one notebook and say how it stands; nothing where its code is what it was."""
        try:
            exercise = open_exercise(path)
            code = tuple(cell.source for cell in exercise.document.notebook.cells)
            if self._seen.get(path) == code:
                return
            self._clear()
            with working(f"checking {exercise.name}"):
                findings = check(exercise, exercise.tasks, self._seconds, self._supply.take)
        except GraderError as error:
            self._clear()
            self._to.print(Text(inert(str(error)), "red"))
        else:
            before, self._last[path], self._seen[path] = self._last.get(path), findings, code
            self._tell(before, findings)
        self._supply.prepare()
        self._to.print(Text("Waiting for the next save. Ctrl-C ends this.", "dim"))

    def _tell(self, before: Findings | None, findings: Findings) -> None:
        news = list(_changes(before, findings)) if before else []
        tell(self._to, findings)
        self._to.print()
        for identity, standing in news:
            words = "now passes" if standing == "passes" else "does not pass any more"
            self._to.print(mark(self._to, standing), Text(f" {identity} {words}", "bold"), sep="")
        if before and not news:
            self._to.print(Text("No question passes that did not before.", "dim"))

    def _clear(self) -> None:
        """Begin on an empty screen; what was shown before stays where one can scroll to."""
        if self._to.is_terminal:
            self._to.print("\n" * (self._to.height - 1), end="")
            self._to.control(Control.home())


def _changes(before: Findings, now: Findings) -> Iterator[tuple[str, str]]:
    """The questions that pass now and did not, or the other way round."""
    passed = {one.task.id for one in before.tasks if one.is_done}
    for one in now.tasks:
        if one.is_done != (one.task.id in passed):
            yield one.task.id, "passes" if one.is_done else "fails"
