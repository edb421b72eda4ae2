"""On a student's machine: starts the process of ``runner.py``, listens to it, and ends it when time is up."""

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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from grader import signals as interrupt
from grader.errors import BrokenRunError, GraderError

_START_SECONDS = 180.0  # a slow disk that reads torch for the first time
_TICK = 0.02
_MAX_SAID = 50_000_000  # bytes; a notebook of five thousand cells that raise stays far below
_IN_A_CELL = re.compile(r'File "<cell (\d{1,6})[^"]*", line (\d{1,9})')
_ROOT = str(Path(__file__).resolve().parents[2])
#: Of the environment; without asserts, for instance, every check would pass.
_NOT_PASSED_ON = ("GITHUB_", "ACTIONS_", "PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONINSPECT", "PYTHONDEBUG")
_BOOT = (
    "import sys; root = sys.argv.pop(); sys.path.insert(0, root); from grader.student import runner;"
    " sys.path.remove(root); runner.main()"
)


class RunnerProcess:
    """A fresh Python that has imported torch, for one request.

    Args:
        shows: whether what the notebook prints is shown.
    """

    def __init__(self, *, shows: bool = False) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="grader-check-"))
        said = self._folder / "said"
        said.touch()
        self._listening = said.open("rb")  # from the beginning: a notebook may remove whatever it finds
        self._whereabouts = self._folder / "whereabouts"
        here = self._folder / "empty"  # only the notebook is handed in: nothing lies beside it
        here.mkdir()
        self._rest = b""
        self._is_over = False
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own text
            [sys.executable, "-P", "-c", _BOOT, str(said), str(self._whereabouts), _ROOT],
            stdin=subprocess.PIPE,
            stdout=None if shows else subprocess.DEVNULL,
            stderr=None if shows else subprocess.DEVNULL,
            cwd=here,
            env=_environment(),
            **_a_group_of_its_own(),
        )

    def run(self, request: dict[str, Any], seconds: float) -> Iterator[dict[str, Any]]:
        """Yield what it says about a request, as it says it.

        Args:
            request: see ``runner.py``.
            seconds: how long may pass between two events.

        Raises:
            Ended: it did not come to an end by itself.
            GraderError: torch is not to be had, or Python does not start.
        """
        self._ask(request)
        limit, since, is_ready = _START_SECONDS, time.monotonic(), False
        while True:
            is_running = self._process.poll() is None  # asked first: what it said before it ended is read
            for event in self._new_events():
                if "unusable" in event:
                    raise no_torch(event["unusable"])
                if "done" in event:
                    return
                limit, since, is_ready = seconds, time.monotonic(), True
                if "ready" not in event:
                    yield event
            is_late = time.monotonic() - since > limit
            if not is_ready and (is_late or not is_running):
                raise no_start(self._process.returncode)
            if not is_running:
                raise RunnerEnded(how_it_ended(self._process.returncode))
            if is_late:
                places = self._places()
                self.end()
                raise RunnerEnded(f"took longer than {seconds:g} s", places[0], places[-1], is_late=True)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_TICK)

    def end(self) -> None:
        """End the process and whatever it started, wait for it, and remove what it left behind."""
        if self._is_over:
            return
        self.kill()
        self._is_over = True
        self._process.wait()
        if self._process.stdin:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        self._listening.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def kill(self) -> None:
        """The same without waiting, for a handler of signals, which may interrupt somebody who waits."""
        if self._is_over:  # by now its number may be another's
            return
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _ask(self, request: dict[str, Any]) -> None:
        """Tell it what to run; its standard input stays open, and ends it when we are gone."""
        if self._process.stdin is None:
            raise BrokenRunError("the process that runs the notebook cannot be spoken to: run it again.")
        with contextlib.suppress(OSError):  # it is gone; `run` will say so
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()

    def _places(self) -> Sequence[tuple[int, int] | None]:
        """The lines of the notebook that its watchdog saw when it looked last, the innermost first."""
        try:
            seen = self._whereabouts.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return [None]
        threads = seen.rpartition("Timeout (")[2].split("Thread 0x")  # the notebook's own is the last of them
        found = [[(int(cell), int(line)) for cell, line in _IN_A_CELL.findall(thread)] for thread in threads]
        return next((places for places in reversed(found) if places), [None])

    def _new_events(self) -> Iterator[dict[str, Any]]:
        """The complete lines that were added."""
        content = self._rest + self._listening.read(_MAX_SAID)
        lines, _, self._rest = content.rpartition(b"\n")
        for line in lines.splitlines():
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict):
                    yield event


def _environment() -> dict[str, str]:
    """Ours, but for what belongs to a workflow or makes Python another one; plots open no window."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_PASSED_ON)}
    return {**ours, "MPLBACKEND": "agg", "PYTHONUNBUFFERED": "1"}


def _a_group_of_its_own() -> dict[str, Any]:
    """So that Ctrl-C is ours alone, and that what it starts ends with it."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


class RunnerEnded(Exception):  # noqa: N818 - it is an end, and mostly the student's doing
    """The process ended before it was done, or had to be ended; the text says how, as in "it ...".

    Args:
        how: the words.
        place: the cell and its line where it was, if that is known.
        entry: the cell that ran, and its line from which it came there, likewise.
        is_late: whether time was up.
    """

    def __init__(
        self,
        how: str,
        place: tuple[int, int] | None = None,
        entry: tuple[int, int] | None = None,
        *,
        is_late: bool = False,
    ) -> None:
        super().__init__(how)
        self.place = place
        self.entry = entry
        self.is_late = is_late


def how_it_ended(status: int) -> str:
    """In words that follow "it", from the status of a process."""
    if status >= 0:
        return f"ended Python (exit status {status})"
    try:
        return f"ended Python ({signal.Signals(-status).name})"
    except ValueError:
        return f"ended Python (signal {-status})"


def no_start(status: int | None) -> BrokenRunError:
    """The error of a process that did not get as far as to run anything; no status: it took too long."""
    how = "took too long" if status is None else how_it_ended(status)
    return BrokenRunError(
        f"the Python that should run your notebook did not start: it {how}."
        f' Look what `{sys.executable} -c "import torch"` says, then run this again.'
    )


def no_torch(why: str) -> GraderError:
    """The error of a Python in which something is missing that the course needs."""
    return GraderError(
        f"your notebook cannot be run by {sys.executable}: {why}. Install what the course needs,"
        f" with `{sys.executable} -m pip install -r requirements.txt`, or use the Python which has it."
    )


class RunnerPool:
    """Gives processes that run notebooks, and ends all of them with itself.

    Args:
        shows: whether what notebooks print is shown.
        sentence: what is said on Ctrl-C.
    """

    def __init__(self, *, shows: bool = False, sentence: str = "stopped.") -> None:
        self._shows = shows
        self._spare: RunnerProcess | None = None
        self._children: list[RunnerProcess] = []
        interrupt.when_interrupted(lambda: self._end_and_say(sentence))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.end()

    def take(self) -> RunnerProcess:
        """A process that nobody used."""
        child, self._spare = self._spare or self._start(), None
        return child

    def prepare(self) -> None:
        """Start the next one now: to import torch takes longer than most checks."""
        self._spare = self._spare or self._start()

    def _start(self) -> RunnerProcess:
        try:
            child = RunnerProcess(shows=self._shows)
        except OSError as error:
            raise BrokenRunError(
                f"your notebook cannot be run ({error.strerror}): make room in {tempfile.gettempdir()}, close"
                " other programs, and run this again."
            ) from error
        self._children = [*self._children[-2:], child]  # those before have been ended by who took them
        return child

    def _end_and_say(self, sentence: str) -> str:
        for child in self._children:
            child.kill()
        return sentence
