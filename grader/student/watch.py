"""On a student's machine: checks a notebook whenever it is saved, and says what that changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.control import Control
from rich.text import Text

from grader.errors import GraderError
from grader.student.check import check
from grader.student.display import mark, print_report, working
from grader.student.notebook import open_notebook
from grader.student.process import RunnerPool
from grader.student.report import NotebookReport
from grader.text import inert


class Watcher:
    """Knows how each notebook stood the last time it was looked at.

    Args:
        to: where to say it.
        seconds: how long a cell, or a test, may take.
        pool: where processes come from.
    """

    def __init__(self, to: Console, seconds: float, pool: RunnerPool) -> None:
        self._to = to
        self._seconds = seconds
        self._pool = pool
        self._last: dict[Path, NotebookReport] = {}
        self._seen: dict[Path, tuple[str, ...]] = {}

    def watch(self, saved: Iterable[Iterable[Path]]) -> None:
        """Look at every notebook that was saved, until there are no more."""
        for paths in saved:
            for path in sorted(paths):
                self.look(path)

    def look(self, path: Path) -> None:
        """Check one notebook and say how it stands; nothing where its code is what it was."""
        try:
            notebook = open_notebook(path)
            code = tuple(cell.source for cell in notebook.code)
            if self._seen.get(path) == code:
                return
            self._clear()
            with working(f"checking {notebook.name}"):
                report = check(notebook, notebook.questions, self._seconds, self._pool.take)
        except GraderError as error:
            self._clear()
            self._to.print(Text(inert(str(error)), "red"))
        else:
            before, self._last[path], self._seen[path] = self._last.get(path), report, code
            self._tell(before, report)
        self._pool.prepare()
        self._to.print(Text("Waiting for the next save. Ctrl-C ends this.", "dim"))

    def _tell(self, before: NotebookReport | None, report: NotebookReport) -> None:
        news = list(_changes(before, report)) if before else []
        print_report(self._to, report)
        self._to.print()
        for identity, status in news:
            words = "now passes" if status == "passes" else "does not pass any more"
            self._to.print(mark(self._to, status), Text(f" {identity} {words}", "bold"), sep="")
        if before and not news:
            self._to.print(Text("No question passes that did not before.", "dim"))

    def _clear(self) -> None:
        """Begin on an empty screen; what was shown before stays where one can scroll to."""
        if self._to.is_terminal:
            self._to.print("\n" * (self._to.height - 1), end="")
            self._to.control(Control.home())


def _changes(before: NotebookReport, now: NotebookReport) -> Iterator[tuple[str, str]]:
    """The questions that pass now and did not, or the other way round."""
    passed = {one.question.id for one in before.questions if one.is_done}
    for one in now.questions:
        if one.is_done != (one.question.id in passed):
            yield one.question.id, "passes" if one.is_done else "fails"
