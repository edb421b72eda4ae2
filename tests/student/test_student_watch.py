"""On a student's machine: `watch`, which checks a notebook whenever it is saved, and its keys."""

import io
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
from patience import time_limit
from rich.console import Console
from student_notebooks import ANSWERS, STEM, handed_out, worked, write

from grader.student.process import RunnerPool
from grader.student.watch import Watcher

ROOT = Path(__file__).resolve().parents[2]
WAITING = "Waiting for the next save. Ctrl-C ends this."
KEYS = "q quit"
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / ".handout" / f"{STEM}.ipynb", handed_out())
    return tmp_path


def saves(path, versions):
    """Save one version after the other, each when it is asked for."""
    for version in versions:
        if isinstance(version, str):
            path.write_text(version)
        else:
            write(path, version)
        yield {path}


@pytest.mark.long
def test_each_save_is_answered_by_what_it_changed(folder):
    """First how it stands, then what passes now or no more; code that stayed is not run again."""
    path = folder / f"{STEM}.ipynb"
    shown = io.StringIO()
    same = worked(**ANSWERS)
    same["cells"][0]["source"] = "# Another title"
    versions = [worked(q1=ANSWERS["q1"]), worked(**ANSWERS), same, "{", worked(q2=ANSWERS["q2"])]
    with RunnerPool() as supply:
        Watcher(Console(file=shown, markup=False), 20, supply).watch(saves(path, versions))
    parts = [part.splitlines() for part in shown.getvalue().split(WAITING)]
    assert len(parts) == 5  # of six, one says nothing
    first, second, broken, third, _ = parts
    assert [line for line in first if line.startswith("Next")] == ["Next: q2, Title of q2."]
    assert second[-2:] == ["✔ q2 now passes", "✔ q3 now passes"]
    assert "is not a notebook" in " ".join(broken)
    assert third[-2:] == ["✘ q1 does not pass any more", "✘ q3 does not pass any more"]


def test_a_terminal_is_cleared_and_a_pipe_is_not(folder):
    """On a terminal every look begins on an empty screen, and what was shown stays above it."""
    path = write(folder / f"{STEM}.ipynb", worked())
    path.write_text("{")
    shown = {is_terminal: io.StringIO() for is_terminal in (True, False)}
    with RunnerPool() as supply:
        for is_terminal, file in shown.items():
            console = Console(file=file, force_terminal=is_terminal, height=7, width=80, _environ={})
            Watcher(console, 20, supply).check(path)
    assert shown[True].getvalue().startswith("\n" * 6 + "\x1b[H")
    assert "\x1b[H" not in shown[False].getvalue()


def save(path, notebook):
    """Save a notebook as Jupyter does."""
    new = write(path.with_name(".new.ipynb"), notebook)
    new.replace(path)


@contextmanager
def watching(folder, **environment):
    """`watch` in a pipe."""
    with subprocess.Popen(
        [sys.executable, "-m", "grader", "watch", str(folder), "--seconds", "600"],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            with time_limit(120):
                yield process
        finally:
            process.kill()


def read_until(stream, end):
    lines = []
    while not lines or end not in lines[-1]:
        line = stream.readline().decode()
        assert line, f"it ended after {lines}"
        lines.append(line.rstrip())
    return lines


def test_watch_sees_a_save_and_ends_with_one_line(folder):
    """The command begins with the newest notebook, answers a save, and Ctrl-C ends it and all it started."""
    path = write(folder / f"{STEM}.ipynb", worked())
    with watching(folder) as process:
        first = read_until(process.stdout, WAITING)
        assert first[0] == "Starting: to load torch takes a few seconds."
        assert "0 of 3 questions pass." in first
        save(path, worked(q1=ANSWERS["q1"]))
        assert "✔ q1 now passes" in read_until(process.stdout, WAITING)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert (process.returncode, said) == (130, b"grader: stopped watching.\n")


def test_a_check_is_dropped_at_a_new_save(folder):
    """What runs for ever is given up when the notebook is saved with other code, which is checked then."""
    begun = folder / "begun"
    endless = f"def double(x):\n    open({str(begun)!r}, 'w').close()\n    while True: pass"
    path = write(folder / f"{STEM}.ipynb", worked(q1=endless))
    with watching(folder) as process:
        while not begun.exists():
            assert process.poll() is None
            time.sleep(0.01)
        save(path, worked(q1=endless))  # the same code: no reason to begin anew
        save(path, worked(q1=ANSWERS["q1"]))
        seen = read_until(process.stdout, WAITING)
        process.kill()
        rest = process.stdout.read().decode()
    assert "1 of 3 questions pass." in seen
    assert "took longer" not in " ".join(seen)
    assert rest == ""


class Terminal:
    """`watch` on a terminal of its own."""

    def __init__(self, folder, columns=80, **environment):
        self._end, inside = pty.openpty()
        termios.tcsetwinsize(inside, (30, columns))
        self.inside = inside
        self.before = termios.tcgetattr(inside)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "grader", "watch", str(folder)],
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm", **environment},
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
        )

    def press(self, key):
        os.write(self._end, key.encode())
        return self.read()

    def read(self, end=KEYS):
        """What is shown from here to the end of a screen, without spaces at the end of lines."""
        shown = ""
        while end not in shown:
            shown += os.read(self._end, 65536).decode()
        return "\n".join(line.rstrip() for line in CONTROLS.sub("", shown).splitlines())

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.inside)
        os.close(self._end)


@pytest.fixture
def terminal(folder):
    """`watch` on a terminal, of a notebook of which q1 is wrong and the others are not begun."""
    path = write(folder / f"{STEM}.ipynb", worked(q1="def double(x):\n    return x * x"))
    browser = folder / "browser"
    browser.write_text('#!/bin/sh\nprintf "%s" "$1" > "$0.address"\n')
    browser.chmod(0o755)
    with time_limit(120):
        opened = Terminal(folder, BROWSER=f"{browser} %s")
        opened.path, opened.address = path, folder / "browser.address"
        try:
            yield opened
        finally:
            opened.close()
