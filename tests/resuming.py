"""Outside: a tiny class that is graded, disturbed, graded on, and compared with what nobody disturbed."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook
from click.testing import CliRunner
from tiny_course import HALF, RIGHT, write_course, write_notebook

from grader.cli import main

SEED = 5
#: A cell that sleeps for all of its time, and holds on to every exception that should stop it.
STUBBORN = """
import time
while True:
    try:
        while True:
            time.sleep(60)
    except BaseException:
        pass
"""
#: What says nothing that is not in other files, and when these were written.
REMEMBERED = (".lock",)
QUICK = ("--jobs", "2", "--cell-seconds", "0.5")


class Class:
    """Twelve notebooks, or one more that loops without an end, and folders of results with the same seed."""

    def __init__(self, root, *, loop=True):
        self.course = write_course(root / "course")
        self.submissions = root / "submissions"
        for number in range(12):
            answers = RIGHT if number % 2 else HALF
            write_notebook(self.submissions / f"s{number:02}" / "01_tiny.ipynb", answers)
        if loop:
            write_notebook(self.submissions / "loop" / "01_tiny.ipynb", [*RIGHT, STUBBORN])
        self._root, self._outs = root, 0

    def new_out(self):
        """An empty folder of results, as it is at the beginning of a run with the seed."""
        self._outs += 1
        out = self._root / f"results{self._outs}"
        out.mkdir()
        self.begin(out)
        return out

    def begin(self, out):
        """Leave a run behind that was stopped at once."""
        run = json.dumps({"seed": SEED, "finished": False})
        (out / "run.json").write_text(run, encoding="utf-8")

    def arguments(self, out, options=()):
        return ["grade", str(self.submissions), "--out", str(out), *QUICK, *options]

    def finish(self, out):
        """Grade in this process, whose own pytest must not rewrite the checks; returns how that ended."""
        with pytest.MonkeyPatch.context() as patch:
            plain = [finder for finder in sys.meta_path if not isinstance(finder, AssertionRewritingHook)]
            patch.setattr(sys, "meta_path", plain)
            patch.chdir(self.course)
            return CliRunner().invoke(main, self.arguments(out))

    @contextmanager
    def running(self, out, prefix=(), options=(), **settings):
        """Grade in a process of its own."""
        command = [*prefix, sys.executable, "-m", "grader", *self.arguments(out, options)]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(
            command, cwd=self.course, text=True, start_new_session=True, **{**pipes, **settings}
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def results(out):
    """All that a run leaves, without times and places; complete files only, so that a torn one fails here."""
    files = (path for path in sorted(out.rglob("*")) if path.is_file() and path.name not in REMEMBERED)
    return {str(path.relative_to(out)): _content(path) for path in files}


def differences(out, expected):
    """The files that are not as expected, each with what is there and what should be."""
    found = results(out)
    return {
        name: (found.get(name), expected.get(name))
        for name in sorted({*found, *expected})
        if found.get(name) != expected.get(name)
    }


_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")  # at which the report says it was graded


def _content(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".json":
        return _TIME.sub("", text)
    content = json.loads(text)
    content.get("provenance", {}).pop("graded_at", None)
    content.pop("submissions_from_here", None)  # depends on where the results are
    evidence = content.get("evidence", {})
    evidence.pop("starved", None)  # who had no processor has been looked at again
    evidence.pop("size", None)  # of answers that were thrown away too
    return content


def descendants(pid):
    """The processes below one, the nearest first."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return []
    return [*children, *(below for child in children for below in descendants(child))]


class Witness:
    """Who was there when a process was stopped, to see that all of them go."""

    def __init__(self, process):
        self._stack = ExitStack()
        process.send_signal(signal.SIGSTOP)
        self.pidfds = []
        for pid in descendants(process.pid):
            try:
                self.pidfds.append(os.pidfd_open(pid))
            except ProcessLookupError:
                continue
            self._stack.callback(os.close, self.pidfds[-1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def sees_all_go(self, seconds=10):
        """Whether the processes below have ended, by then."""
        end = time.monotonic() + seconds
        return all(select.select([fd], [], [], max(0, end - time.monotonic()))[0] for fd in self.pidfds)


def wait_until(condition, process, seconds=60):
    """Look 500 times a second until something holds; whether it did before the process ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.002)
    raise AssertionError(f"not within {seconds} s")
