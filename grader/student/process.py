"""The process that runs a student's notebook: starts it, reads its events, ends it; and a pool of these."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from grader import signals
from grader.errors import BrokenRunError, GraderError

_START_SECONDS = 180.0  # a slow disk that reads torch for the first time
_TICK = 0.02
_MOST_BYTES = 50_000_000  # of events; a notebook of five thousand cells that raise stays far below
_IN_A_CELL = re.compile(r'File "<cell (\d{1,6})[^"]*", line (\d{1,9})')
_ROOT = str(Path(__file__).resolve().parents[2])
#: Variables of the environment; with PYTHONOPTIMIZE, for instance, every check would pass.
_NOT_PASSED_ON = ("GITHUB_", "ACTIONS_", "PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONINSPECT", "PYTHONDEBUG")
_BOOT = (
    "import sys; root = sys.argv.pop(); sys.path.insert(0, root); from grader.student import runner;"
    " sys.path.remove(root); runner.main()"
)
_NO_TORCH = (
    f"your notebook cannot be run by {sys.executable}: {{why}}. Install what the course needs,"
    f" with `{sys.executable} -m pip install -r requirements.txt`, or use the Python which has it."
)
_NO_START = (
    "the Python that should run your notebook did not start: it {how}."
    f' Look what `{sys.executable} -c "import torch"` says, then run this again.'
)

Position = tuple[int, int]
"""The number of a code cell, and a line in it; both counted from 1."""


class RunnerEnded(Exception):  # noqa: N818 - mostly the student's doing, and no error of ours
    """The process ended before it was done, or had to be ended; the text says how, as in "it ...".

    `position` is where it was then, where that is known.
    """

    def __init__(self, how: str, position: Position | None = None, *, is_late: bool = False) -> None:
        super().__init__(how)
        self.position = position
        self.is_late = is_late


class RunnerProcess:
    """A fresh Python for one request, which imports torch at once; may show what the notebook prints."""

    def __init__(self, *, shows: bool = False) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="grader-check-"))
        events = self._folder / "events"
        events.touch()
        self._events = events.open("rb")  # from the beginning: a notebook may remove every file it finds
        self._watchdog = self._folder / "watchdog"
        empty = self._folder / "empty"  # only the notebook is handed in: nothing lies beside it
        empty.mkdir()
        self._rest = b""
        self._is_over = False
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own text
            [sys.executable, "-P", "-c", _BOOT, str(events), str(self._watchdog), _ROOT],
            stdin=subprocess.PIPE,  # it ends when this is closed
            stdout=None if shows else subprocess.DEVNULL,
            stderr=None if shows else subprocess.DEVNULL,
            cwd=empty,
            env=_environment(),
            # A group of its own: Ctrl-C goes to us alone, and what it starts ends with it.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # on Windows
        )

    def run(self, request: dict[str, Any], seconds: float) -> Iterator[dict[str, Any]]:
        """Yield the events of a request (see ``runner.py``), at most so many seconds apart.

        Raises:
            RunnerEnded: the process ended early, or took too long.
            GraderError: torch is missing, or Python does not start.
        """
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it is gone, as is found below
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        limit, since, is_ready = _START_SECONDS, time.monotonic(), False
        while True:
            is_running = self._process.poll() is None  # asked first, so that its last events are read
            for event in self._new_events():
                if "unusable" in event:
                    raise GraderError(_NO_TORCH.format(why=event["unusable"]))
                if "done" in event:
                    return
                limit, since, is_ready = seconds, time.monotonic(), True
                if "ready" not in event:
                    yield event
            is_late = time.monotonic() - since > limit
            if not is_ready and (is_late or not is_running):
                how = "took too long" if is_running else _how_it_ended(self._process.returncode)
                raise BrokenRunError(_NO_START.format(how=how))
            if not is_running:
                raise RunnerEnded(_how_it_ended(self._process.returncode))
            if is_late:
                position = self._position()
                self.end()
                raise RunnerEnded(f"took longer than {seconds:g} s", position, is_late=True)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_TICK)

    def end(self) -> None:
        """End the process and all that it started, wait for it, and remove its files."""
        if self._is_over:
            return
        self.kill()
        self._is_over = True
        self._process.communicate()  # closes its standard input, and waits
        self._events.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def kill(self) -> None:
        """The same without waiting, for a handler of signals, which may interrupt a wait."""
        if self._is_over:  # its number may be another process's by now
            return
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _position(self) -> Position | None:
        """The innermost line of the notebook when the watchdog looked last."""
        try:
            seen = self._watchdog.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        threads = seen.rpartition("Timeout (")[2].split("Thread 0x")  # the notebook's own is the last
        line = next(filter(None, map(_IN_A_CELL.search, reversed(threads))), None)
        return (int(line[1]), int(line[2])) if line else None

    def _new_events(self) -> Iterator[dict[str, Any]]:
        """The events of the complete lines that were added."""
        content = self._rest + self._events.read(_MOST_BYTES)
        lines, _, self._rest = content.rpartition(b"\n")
        for line in lines.splitlines():
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict):
                    yield event


def _environment() -> dict[str, str]:
    """Our environment without what belongs to a workflow or changes Python; plots open no window."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_PASSED_ON)}
    return {**ours, "MPLBACKEND": "agg", "PYTHONUNBUFFERED": "1"}


def _how_it_ended(status: int) -> str:
    """Words that follow "it", from the status of a process."""
    if status >= 0:
        return f"ended Python (exit status {status})"
    try:
        return f"ended Python ({signal.Signals(-status).name})"
    except ValueError:
        return f"ended Python (signal {-status})"


class RunnerPool:
    """Gives processes that run notebooks, and ends all of them at its end; on Ctrl-C it says a sentence."""

    def __init__(self, *, shows: bool = False, sentence: str = "stopped.") -> None:
        self._shows = shows
        self._spare: RunnerProcess | None = None
        self._processes: list[RunnerProcess] = []
        signals.when_interrupted(lambda: self._kill_all_and_say(sentence))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.end()

    def take(self) -> RunnerProcess:
        """A process that was not used."""
        process, self._spare = self._spare or self._start(), None
        return process

    def prepare(self) -> None:
        """Start the next process now: importing torch takes longer than most checks."""
        self._spare = self._spare or self._start()

    def _start(self) -> RunnerProcess:
        try:
            process = RunnerProcess(shows=self._shows)
        except OSError as error:
            raise BrokenRunError(
                f"your notebook cannot be run ({error.strerror}): make room in {tempfile.gettempdir()}, close"
                " other programs, and run this again."
            ) from error
        self._processes = [*self._processes[-2:], process]  # earlier processes have been ended by `check`
        return process

    def _kill_all_and_say(self, sentence: str) -> str:
        for process in self._processes:
            process.kill()
        return sentence
