"""The notebooks of a folder: `status` checks all of them, `watch` each whenever it is saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.control import Control
from rich.text import Text

from grader.errors import GraderError
from grader.notebooks.files import is_notebook
from grader.student.check import NotebookReport, check
from grader.student.display import console, mark, print_report, print_table, working
from grader.student.notebook import assignment_of, notebooks_in, open_notebook
from grader.student.process import RunnerPool, RunnerProcess
from grader.text import terminal_text


def show_status(folder: Path, seconds: float) -> None:
    """Check all notebooks of a folder and print a table; one that cannot be read costs only itself.

    A cell, or a test, may take so many seconds.
    """
    stems = notebooks_in(folder)
    found: dict[Path, NotebookReport | GraderError] = {}
    with RunnerPool() as pool, working("starting") as show:
        for number, path in enumerate(stems, 1):
            show(f"checking {terminal_text(path.name)} ({number} of {len(stems)})")
            try:
                notebook = open_notebook(path)
                start = partial(_start, pool, is_last=number == len(stems))
                found[path] = check(notebook, notebook.questions, seconds, start)
            except GraderError as error:
                found[path] = error
    print_table(console(), found, stems)


def _start(pool: RunnerPool, *, is_last: bool) -> RunnerProcess:
    """A process for this notebook; the next notebook's imports torch meanwhile."""
    process = pool.take()
    if not is_last:
        pool.prepare()
    return process


def watch_folder(folder: Path, seconds: float) -> None:
    """Check each notebook of a folder when it is saved, first the last one saved, until an interruption."""
    paths = notebooks_in(folder)
    with RunnerPool(sentence="stopped watching.") as pool:
        watcher = Watcher(console(), seconds, pool)
        saved = _saved(folder)
        pool.prepare()
        missed = next(saved)  # later saves are noticed
        watcher.watch([missed | {max(paths, key=lambda path: path.stat().st_mtime)}])
        watcher.watch(saved)


def _saved(watched: Path) -> Iterator[set[Path]]:
    """The notebooks of the course that were saved; an empty set now and then, the first at once."""
    from watchfiles import watch as changes_in  # noqa: PLC0415 - `status` does not need it

    folder = watched.parent if watched.is_file() else watched

    def is_wanted(_: object, name: str) -> bool:
        return is_notebook(Path(name).name) and (folder == watched or Path(name).name == watched.name)

    for changes in changes_in(
        folder, watch_filter=is_wanted, recursive=False, yield_on_timeout=True, rust_timeout=300
    ):
        changed = {folder / Path(name).name for _, name in changes}
        yield {path for path in changed if path.is_file() and assignment_of(path)}


class Watcher:
    """Checks notebooks again and again, and remembers the last report of each.

    A cell, or a test, may take so many seconds.
    """

    def __init__(self, to: Console, seconds: float, pool: RunnerPool) -> None:
        self._to = to
        self._seconds = seconds
        self._pool = pool
        self._last: dict[Path, NotebookReport] = {}
        self._seen: dict[Path, tuple[str, ...]] = {}

    def watch(self, saved: Iterable[Iterable[Path]]) -> None:
        """Check every notebook that is saved, until there are no more."""
        for paths in saved:
            for path in sorted(paths):
                self.check(path)

    def check(self, path: Path) -> None:
        """Check a notebook and print the report; nothing where its code is what it was."""
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
            self._to.print(Text(terminal_text(str(error)), "red"))
        else:
            before, self._last[path], self._seen[path] = self._last.get(path), report, code
            self._print(before, report)
        self._pool.prepare()
        self._to.print(Text("Waiting for the next save. Ctrl-C ends this.", "dim"))

    def _print(self, before: NotebookReport | None, report: NotebookReport) -> None:
        passed = {answer.question.id for answer in before.questions if answer.is_done} if before else set()
        changed = [
            answer
            for answer in report.questions
            if before and answer.is_done != (answer.question.id in passed)
        ]
        print_report(self._to, report)
        self._to.print()
        for answer in changed:
            words = "now passes" if answer.is_done else "does not pass any more"
            sign = mark(self._to, "passes" if answer.is_done else "fails")
            self._to.print(sign, Text(f" {answer.question.id} {words}", "bold"), sep="")
        if before and not changed:
            self._to.print(Text("No question passes that did not before.", "dim"))

    def _clear(self) -> None:
        """Begin on an empty screen; scrolling up shows what was there before."""
        if self._to.is_terminal:
            self._to.print("\n" * (self._to.height - 1), end="")
            self._to.control(Control.home())
