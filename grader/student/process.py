"""Starts the process that runs a student's notebook, reads its events and ends it; and a pool of these."""

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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from grader import signals
from grader.errors import BrokenRunError, GraderError

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


class RunnerProcess:
    """A fresh Python for one request, which imports torch at once; may show the notebook's output."""

    def __init__(self, *, shows: bool = False) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="grader-check-"))
        files = [self._folder / "events", self._folder / "watchdog"]
        for path in files:
            path.touch()
        # Opened at the beginning: a notebook may remove every file it finds.
        self._events, self._watchdog = (path.open("rb") for path in files)
        empty = self._folder / "empty"  # only the notebook is submitted: nothing is beside it
        empty.mkdir()
        self._rest = b""
        self._is_over = False
        ours = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_PASSED_ON)}
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own text
            [sys.executable, "-P", "-c", _BOOT, *map(str, files), _ROOT],
            stdin=subprocess.PIPE,  # it ends when this is closed
            stdout=None if shows else subprocess.DEVNULL,
            stderr=None if shows else subprocess.DEVNULL,
            cwd=empty,
            env={**ours, "MPLBACKEND": "agg", "PYTHONUNBUFFERED": "1"},  # plots open no window
            # A group of its own: Ctrl-C goes to us alone, and what it starts ends with it.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # on Windows
        )

    def run(
        self, request: dict[str, Any], at_tick: Callable[[], None] = lambda: None
    ) -> Iterator[dict[str, Any]]:
        """Yield the events of a request, see ``runner.py``; where the process ends early, that is the last.

        Meanwhile `at_tick` is called, many times a second.

        Such an event is ``{"ended": how, "at": [cell, line]}``, with words that follow "it", and without
        ``at`` where the line is not known.

        Raises:
            GraderError: torch is missing, or Python does not start.
        """
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it is gone, as is found below
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        is_running, is_ready = True, False
        while is_running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_TICK)
            at_tick()
            is_running = self._process.poll() is None  # asked first, so that its last events are read
            for event in self._new_events():
                if "unusable" in event:
                    raise GraderError(_NO_TORCH.format(why=event["unusable"]))
                is_ready = True
                yield event
                if "done" in event:
                    return
        trace = self._watchdog.read().decode(errors="replace")
        how = f"took longer than {request['seconds']:g} s" if trace else self._how_it_ended()
        if not is_ready:
            raise BrokenRunError(_NO_START.format(how="took too long" if trace else how))
        threads = reversed(trace.split("Thread 0x"))  # the notebook's own is the last
        line = next(filter(None, map(_IN_A_CELL.search, threads)), None)
        yield {"ended": how, "at": [int(line[1]), int(line[2])]} if line else {"ended": how}

    def close(self) -> None:
        """End the process and all that it started, wait for it, and remove its files."""
        if self._is_over:
            return
        self.kill()
        self._is_over = True
        self._process.communicate()  # closes its standard input, and waits
        self._events.close()
        self._watchdog.close()
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

    def _new_events(self) -> Iterator[dict[str, Any]]:
        """The events of the complete lines that were added."""
        content = self._rest + self._events.read(_MOST_BYTES)
        lines, _, self._rest = content.rpartition(b"\n")
        for line in lines.splitlines():
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict):
                    yield event

    def _how_it_ended(self) -> str:
        status = self._process.returncode
        if status >= 0:
            return f"ended Python (exit status {status})"
        try:
            return f"ended Python ({signal.Signals(-status).name})"
        except ValueError:
            return f"ended Python (signal {-status})"


class RunnerPool:
    """Gives processes that run notebooks, and ends all of them at its end and on Ctrl-C."""

    def __init__(self, *, shows: bool = False) -> None:
        self._shows = shows
        self._spare: RunnerProcess | None = None
        self._processes: list[RunnerProcess] = []
        signals.when_interrupted(self._stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.close()

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

    def kill(self) -> None:
        """End all processes without waiting, for a handler of signals."""
        for process in self._processes:
            process.kill()

    def _stop(self) -> str:
        self.kill()
        return "stopped."
