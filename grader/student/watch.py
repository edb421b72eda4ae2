"""`watch`: checks a notebook whenever it is saved.

On a terminal, it shows a single question, which keys change, and everything else in one line. Without keys,
as in a pipe, it prints the whole report each time.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.text import Text

from grader import signals
from grader.console import clear, console, put
from grader.errors import GraderError
from grader.notebooks.files import NotebookError, is_notebook
from grader.notebooks.reader import read_notebook
from grader.student.check import NotebookReport, QuestionReport, check
from grader.student.display import (
    focus_closing,
    how_many_pass,
    mark,
    print_focus,
    print_hint,
    print_report,
    working,
)
from grader.student.hints import hints_to, no_hint
from grader.student.keyboard import open_keyboard, read_keys
from grader.student.notebook import assignment_of, notebooks_in, open_notebook
from grader.student.process import RunnerPool
from grader.text import capital, terminal_text

_LOOK_MS = 100  # seconds between two looks at keys while nothing is checked
_LONG = 3.0  # seconds after which a check may well be dropped
_STARTING = "Starting: to load torch takes a few seconds."
_KEYS = "n next · h hint · q quit"


class _DroppedError(Exception):
    """The notebook was saved again, so the running check is obsolete."""


class _QuitError(Exception):
    """The key q was pressed."""


def watch_folder(folder: Path, seconds: float) -> None:
    """Check each notebook of a folder when it is saved, first the last one saved, until q or an interruption.

    A cell, or a test, may take so many seconds.
    """
    paths = notebooks_in(folder)
    newest = max(paths, key=lambda path: _stamp(path) or (0, 0))
    to = console()
    close_keyboard = open_keyboard() if to.is_terminal else None

    def stop() -> str:
        if close_keyboard:
            close_keyboard()
        pool.kill()
        return "stopped watching."

    try:
        with RunnerPool() as pool:
            signals.when_interrupted(stop)
            if not to.is_terminal:
                put(to, _STARTING)
            pool.prepare()
            saved = _saved(folder)
            missed = next(saved)  # later saves are noticed
            watcher = Watcher(to, seconds, pool, read_keys if close_keyboard else None)
            watcher.watch(chain([missed | {newest}], saved))
    finally:
        if close_keyboard:
            close_keyboard()


def _saved(watched: Path) -> Iterator[set[Path]]:
    """Yield the notebooks that were saved; also yield empty sets regularly, the first immediately."""
    from watchfiles import watch as changes_in  # noqa: PLC0415 - it loads a library of a megabyte

    folder = watched.parent if watched.is_file() else watched

    def is_wanted(_: object, name: str) -> bool:
        return is_notebook(Path(name).name) and (folder == watched or Path(name).name == watched.name)

    for changes in changes_in(
        folder, watch_filter=is_wanted, recursive=False, yield_on_timeout=True, rust_timeout=_LOOK_MS
    ):
        changed = {folder / Path(name).name for _, name in changes}
        yield {path for path in changed if path.is_file() and assignment_of(path)}


class Watcher:
    """Checks notebooks repeatedly; stores the last report and the shown question of each.

    A cell, or a test, may take so many seconds. `read` returns the keys that were pressed; None if there are
    no keys.
    """

    def __init__(
        self, to: Console, seconds: float, pool: RunnerPool, read: Callable[[], str] | None = None
    ) -> None:
        self._to = to
        self._seconds = seconds
        self._pool = pool
        self._read = read
        self._typed = ""
        self._shown: NotebookReport | None = None
        self._last: dict[Path, NotebookReport] = {}
        self._focus: dict[Path, str] = {}
        self._hints: defaultdict[tuple[Path, str], int] = defaultdict(int)  # that were given to a question

    def watch(self, saved: Iterable[Iterable[Path]]) -> None:
        """Check every saved notebook, and handle keys, until q or the end of the notebooks."""
        with suppress(_QuitError):
            for paths in saved:
                for path in sorted(paths):
                    self.check(path)
                self._read_keys()
                typed, self._typed = self._typed, ""
                for key in typed:
                    self.press(key)

    def check(self, path: Path) -> None:
        """Check a notebook and print the report, or only how many checks pass if its code is unchanged."""
        while True:
            with suppress(_DroppedError):
                self._check(path)
                return

    def _check(self, path: Path) -> None:
        before = self._last.get(path)
        try:
            notebook = open_notebook(path)
            if before and notebook.code == before.notebook.code and self._shown is before:
                self._print_unchanged(before)
                return
            clear(self._to)
            with working(f"checking {notebook.name}" if self._last else _STARTING):
                report = check(
                    notebook,
                    notebook.questions,
                    self._seconds,
                    self._pool.take,
                    in_full=self._read is not None,
                    at_tick=self._dropping(path, notebook.code),
                )
        except GraderError as error:
            self._shown = None
            clear(self._to)
            put(self._to, Text(terminal_text(str(error)), "red"))
            self._print_waiting()
        else:
            self._shown = self._last[path] = report
            following = report.next_question or report.questions[0]
            known = {answer.question.id for answer in report.questions}
            if self._focus.get(path) not in known:
                self._focus[path] = following.question.id
            self._print(report, before)
        self._pool.prepare()

    def _dropping(self, path: Path, code: object) -> Callable[[], None]:
        """Raise an error that ends a check: if changed code was saved, or q was pressed."""
        seen = None  # so that the first look compares the code
        late = time.monotonic() + _LONG

        def look() -> None:
            nonlocal seen
            self._read_keys()
            if time.monotonic() > late:
                self._pool.prepare()  # so that a save is answered at once
            if (now := _stamp(path)) != seen:
                seen = now
                if _code(path) != code:
                    raise _DroppedError

        return look

    def _read_keys(self) -> None:
        self._typed += self._read() if self._read else ""
        if "q" in self._typed:
            raise _QuitError

    def press(self, key: str) -> None:
        """Handle a key while a notebook is shown."""
        report = self._shown
        if report is None:
            return
        focus = self._focused(report)
        following = report.question_after(focus.question.id)
        if key == "n" and following:
            self._show(report, following)
        elif key == "h":
            self._give_hint(report, focus)

    def _focused(self, report: NotebookReport) -> QuestionReport:
        focus = self._focus[report.notebook.document.path]
        return next(answer for answer in report.questions if answer.question.id == focus)

    def _show(self, report: NotebookReport, focus: QuestionReport) -> None:
        """Show a question."""
        self._focus[report.notebook.document.path] = focus.question.id
        clear(self._to)
        self._print(report, None)

    def _give_hint(self, report: NotebookReport, focus: QuestionReport) -> None:
        """Print the next hint for a question; after the last one, the first."""
        hints, asked = hints_to(focus.question), (report.notebook.document.path, focus.question.id)
        put(self._to)
        if not hints:
            put(self._to, capital(no_hint(focus.question)))
        else:
            number = self._hints[asked] % len(hints)
            self._hints[asked] = number + 1
            print_hint(self._to, focus.question.id, hints[number], len(hints))
            is_last = number + 1 == len(hints)
            more = "That was the last hint." if is_last else f"h gives hint {number + 2} of {len(hints)}."
            put(self._to, Text(more, "dim"))
        self._print_waiting()

    def _print(self, report: NotebookReport, before: NotebookReport | None) -> None:
        """Print a report, and what has changed."""
        focus = self._focused(report)
        changed = _changed(report, before) if before else []
        is_unchanged = before is not None and not changed
        if self._read is None:
            print_report(self._to, report, is_unchanged=is_unchanged)
        else:
            print_focus(self._to, report, focus)
        put(self._to)
        for answer in changed:
            words = "now passes" if answer.is_done else "does not pass any more"
            sign = mark(self._to, "passes" if answer.is_done else "fails")
            put(self._to, Text.assemble(sign, (f" {answer.question.id} {words}", "bold")))
        if self._read is not None:
            for line in focus_closing(report, focus, is_unchanged=is_unchanged):
                put(self._to, line)
        self._print_waiting()

    def _print_unchanged(self, report: NotebookReport) -> None:
        """Answer a save that did not change the code."""
        put(self._to)
        put(self._to, how_many_pass(report.questions, is_unchanged=True))
        self._print_waiting()

    def _print_waiting(self) -> None:
        waiting = "Waiting for the next save."
        if self._read is None:
            put(self._to, Text(f"{waiting} Ctrl-C ends this.", "dim"))
            return
        put(self._to, Text(waiting, "dim"))
        put(self._to, Text(_KEYS, "dim"))


def _changed(report: NotebookReport, before: NotebookReport) -> list[QuestionReport]:
    """The questions that pass now and did not before, or the other way around."""
    passed = {answer.question.id for answer in before.questions if answer.is_done}
    return [answer for answer in report.questions if answer.is_done != (answer.question.id in passed)]


def _stamp(path: Path) -> tuple[int, int] | None:
    """A value that changes when a file is saved; None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino


def _code(path: Path) -> object:
    """The code cells of a notebook; None if it cannot be read."""
    try:
        return read_notebook(path).cells
    except NotebookError:
        return None
