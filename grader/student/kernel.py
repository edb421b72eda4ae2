"""Information about a running kernel: failed cells, and the output and duration of calls."""

from __future__ import annotations

import builtins
import ctypes
import io
import re
import signal
import threading
import time
import types
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grader.notebooks.definitions import defines
from grader.notebooks.files import NotebookError
from grader.notebooks.reader import read_document
from grader.student.check import Failure
from grader.student.public_tests import failure_of
from grader.text import without_controls

_MOST_PRINTED = 4_000  # characters that are kept of what a call prints
_MOST_WARNINGS = 5
_OF_CPP = re.compile(r"\s*\(Triggered internally at [^)]*\)\.?")  # a warning's line of torch's C++ code
_AGAIN = 1.0  # seconds until a call that goes on is stopped again


@dataclass(frozen=True)
class CellRun:
    """A cell that ran, or was to run."""

    source: str
    failure: Failure | None
    began: bool  # whether it came to run at all: what Python cannot parse does not
    given: frozenset[str]  # the names that it gave a value, or deleted
    ended: float  # when, in seconds since the epoch
    id: str  # of the cell, if the front end sends it; otherwise empty

    def is_about(self, function: str, cell_id: str) -> bool:
        """Whether the cell defines a function, or would if Python could parse it.

        What cannot be parsed is known by its id or, where there is none, by a line such as ``deff f(x):``.
        """
        if defines(self.source, function):
            return True
        if self.began:
            return False
        heads = (line.strip() for line in self.source.splitlines())
        return self.id == cell_id if self.id else any(f"{function}(" in h and h.endswith(":") for h in heads)

    def placed(self, failure: Failure) -> Failure:
        """The failure at its line of this cell: below a magic such as ``%%time`` IPython counts from 1."""
        above, magic, _ = self.source.partition("%%")
        lines = self.source.splitlines()
        number = failure.line + above.count("\n") + 1
        if not magic or above.strip() or not failure.line or number > len(lines):
            return failure
        code = lines[number - 1].strip()
        return replace(failure, line=number, code=code) if failure.code in {"", code} else failure

    def first_line_of_its_own(self, starter: str) -> str:
        """The first line that is not in the starter code; empty if there is none."""
        known = {line.strip() for line in starter.splitlines()}
        lines = (line.strip() for line in self.source.splitlines())
        return next((line for line in lines if line not in known and not line.startswith(("#", "%"))), "")

    def is_outdated(self, function: str, path: Path) -> bool:
        """Whether a notebook's file, saved since, holds another version of this cell, by the function in it.

        False also where there is no such file, or none that can be read.
        """
        try:
            if path.stat().st_mtime <= self.ended:
                return False
            cells = read_document(path).notebook.cells
        except (OSError, NotebookError):
            return False
        saved = [cell.source.strip() for cell in cells if defines(cell.source, function)]
        return bool(saved) and self.source.strip() not in saved


class CellLog:
    """The cells that ran since the first cell, by IPython's own events."""

    def __init__(self, shell: Any) -> None:
        """`shell` is the result of ``get_ipython()``."""
        self._names: dict[str, Any] = shell.user_ns
        self._before: dict[str, int] = {}
        self._runs: list[CellRun] = []
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)

    def last_run(self, function: str, cell_id: str) -> CellRun | None:
        """The last run of a cell that defines a function, or was to; the id is of its released cell."""
        return next((run for run in reversed(self._runs) if run.is_about(function, cell_id)), None)

    def has_run(self, cell_id: str) -> bool:
        """Whether a cell ran to its end, by its id; False also where that is not known."""
        return any(run.id == cell_id != "" and run.failure is None for run in self._runs)

    def _begin(self, _: Any) -> None:
        self._before = {name: id(value) for name, value in self._names.items()}

    def _end(self, result: Any) -> None:
        error = result.error_before_exec or result.error_in_exec
        failure = None
        if error is not None:
            failure = Failure(**failure_of(error, getattr(error, "filename", None) or "", self._names))
        after = {name: id(value) for name, value in self._names.items()}
        given = frozenset(name for name, _ in self._before.items() ^ after.items())
        began = result.error_before_exec is None
        cell = getattr(result.info, "cell_id", None) or ""
        run = CellRun(result.info.raw_cell or "", failure, began, given, time.time(), cell)
        self._runs.append(replace(run, failure=run.placed(failure)) if failure else run)


class StoppedError(BaseException):
    """Raised in a call that takes too long; no ``except Exception`` of a student's catches it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `StoppedError` in this thread after so many seconds; where there is an alarm, each second again.

    A call that catches whatever is raised goes on all the same.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and hasattr(signal, "setitimer"):

        def stop(_: int, __: types.FrameType | None) -> None:
            raise StoppedError

        before = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        return
    # As on Windows, and where a front end runs cells in a thread. A call that waits inside C is not stopped.
    caller = ctypes.c_ulong(threading.get_ident())
    stopped = ctypes.py_object(StoppedError)
    timer = threading.Timer(seconds, ctypes.pythonapi.PyThreadState_SetAsyncExc, (caller, stopped))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@dataclass(eq=False)
class Printed(io.TextIOBase):
    """The beginning of a call's output, and of its warnings, each of these once."""

    text: str = ""
    lines: int = 0
    warned: dict[str, None] = field(default_factory=dict)

    @property
    def is_any(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.text or self.warned)

    @property
    def summary(self) -> str:
        """How much was printed, and how many warnings there were."""
        lines = max(self.lines, bool(self.text))
        counts = ((lines, "line", "printed"), (len(self.warned), "warning", "given"))
        counted = [f"{n:,} {what}{'s' * (n != 1)} {how}" for n, what, how in counts if n]
        return f"{' and '.join(counted)} meanwhile"

    @property
    def shown(self) -> str:
        """The beginning of the output, and the warnings."""
        cut = "\n..." if len(self.text) >= _MOST_PRINTED else ""
        return without_controls("\n".join(filter(None, [self.text.rstrip() + cut, *self.warned])))

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text[: _MOST_PRINTED - len(self.text)]
        self.lines += text.count("\n")
        return len(text)

    def warn(self, message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        """Take a warning, as ``warnings.showwarning`` does."""
        if len(self.warned) < _MOST_WARNINGS:
            self.warned[f"{category.__name__}: {_OF_CPP.sub('', str(message))}"] = None


@contextmanager
def quiet() -> Iterator[Printed]:
    """Capture output and warnings meanwhile, so that they are not shown above a verdict.

    Meanwhile `input()` raises: a front end that waits for input blocks all later cells.
    """
    printed, before = Printed(), builtins.input
    with redirect_stdout(printed), redirect_stderr(printed), warnings.catch_warnings():
        warnings.showwarning = printed.warn
        builtins.input = _refuse_input
        try:
            yield printed
        finally:
            builtins.input = before


def _refuse_input(*_: object) -> str:
    raise EOFError("a check cannot wait for input: remove input() from your answer")


def sources_of(cache: Mapping[str, Any]) -> dict[str, str]:
    """The texts in a ``linecache`` that come from no file, as those of cells do.

    An IPython before 8, which Colab has, gives them a time all the same.
    """
    return {
        name: "".join(entry[2])
        for name, entry in cache.items()
        if len(entry) == 4 and (entry[1] is None or not Path(name).exists())
    }
