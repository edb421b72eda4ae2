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
from textwrap import wrap

import pytest
from patience import time_limit
from rich.console import Console
from student_notebooks import ANSWERS, CHECKS, COVERAGE, STEM, released, worked, write

from grader.course.public_check import otter_test
from grader.student.process import RunnerPool
from grader.student.watch import Watcher

ROOT = Path(__file__).resolve().parents[2]
WAITING = "Waiting for the next save. Ctrl-C ends this."
KEYS = "q quit"
#: `COVERAGE` as a terminal of 80 columns shows it.
WRAPPED = "\n".join(wrap(COVERAGE.replace("`", ""), 80))
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


@pytest.fixture
def folder(tmp_path):
    notebook = released()
    test = otter_test("q1", CHECKS["q1"], 4, "`x + x` is `2 * x`.")
    notebook["metadata"]["otter"]["tests"]["q1"] = test
    write(tmp_path / ".handout" / f"{STEM}.ipynb", notebook)
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
    assert len(parts) == 6
    first, second, unchanged, broken, third, _ = parts
    assert [line for line in first if line.startswith("Next")] == ["Next: q2, Title of q2."]
    assert second[-2:] == ["✔ q2 now passes", "✔ q3 now passes"]
    assert unchanged == ["", "", "3 of 3 public checks pass: no change."]
    assert "is not a notebook" in " ".join(broken)
    assert third[-2:] == ["✘ q1 does not pass any more", "✘ q3 does not pass any more"]


def test_a_terminal_is_cleared_and_a_pipe_is_not(folder):
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
    new = write(path.with_name(".new.ipynb"), notebook)
    new.replace(path)


@contextmanager
def watching(folder, **environment):
    with subprocess.Popen(
        [sys.executable, "-m", "grader", "watch", str(folder)],
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
        assert "0 of 3 public checks pass." in first
        save(path, worked(q1=ANSWERS["q1"]))
        assert "✔ q1 now passes" in read_until(process.stdout, WAITING)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert (process.returncode, said) == (130, b"grader: stopped watching.\n")


class Terminal:
    """`watch` on a terminal of its own."""

    def __init__(self, folder, columns=80, **environment):
        self.end, inside = pty.openpty()
        termios.tcsetwinsize(inside, (30, columns))
        self.inside = inside
        self.before = termios.tcgetattr(inside)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "grader", "watch", str(folder), "--seconds", "600"],
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm", **environment},
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
        )

    def press(self, key):
        os.write(self.end, key.encode())
        return self.read()

    def read(self, end=KEYS):
        """What is shown from here to the end of a screen, without spaces at the end of lines."""
        shown = b""
        while end.encode() not in shown:
            shown += os.read(self.end, 65536)
        return "\n".join(line.rstrip() for line in CONTROLS.sub("", shown.decode()).splitlines())

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.inside)
        os.close(self.end)


@pytest.fixture
def terminal(folder):
    """`watch` on a terminal, of a notebook of which q1 is wrong and the others are not begun."""
    path = write(folder / f"{STEM}.ipynb", worked(q1="def double(x):\n    return x * x"))
    with time_limit(120):
        opened = Terminal(folder)
        opened.path = path
        try:
            yield opened
        finally:
            opened.close()


def test_keys_lead_through_the_questions(terminal):
    first = terminal.read()
    assert "01_small.ipynb  q1✘ q2· q3·" in first
    assert "Three becomes six.\n        double(3) is not 6" in first
    assert "Title of q2" not in first
    hints = [terminal.press("h") for _ in range(2)]
    assert "q1, hint 1 of 2\n\nThe hint number 1.\n\nh gives hint 2 of 2.\n" in hints[0]
    assert "q1, hint 2 of 2\n\nThe hint number 2.\n\nThat was the last hint.\n" in hints[1]
    save(terminal.path, worked(q1="def double(x):\n    return x * x"))
    same = terminal.read()
    assert "\n0 of 3 public checks pass: no change.\n" in same
    assert "Title of q1" not in same
    save(terminal.path, worked(q1="def double(x):\n    return x ** 2"))
    other = terminal.read()
    assert "Three becomes six." in other
    assert "\n0 of 3 public checks pass: no change.\n" in other
    save(terminal.path, worked(q1=ANSWERS["q1"]))
    passed = terminal.read()
    assert "  ✔ q1  Title of q1\n      x + x is 2 * x.\n" in passed
    assert "✔ q1 now passes\n" in passed
    assert f"1 of 3 public checks pass.\n{WRAPPED}\nPress n to go on with q2, Title of q2.\n" in passed
    following = terminal.press("n")
    assert "The starter code:\n      ✘ It requires grad." in following
    assert "Title of q1" not in following
    os.write(terminal.end, b"zq")  # other keys say nothing
    assert terminal.process.wait() == 0
    assert termios.tcgetattr(terminal.inside) == terminal.before


def test_a_check_is_dropped_at_a_new_save_and_at_q(terminal):
    """What runs for ever is given up when other code is saved, which is checked then, and at q."""
    terminal.read()
    begun = terminal.path.with_name("begun")
    endless = worked(q1=f"def double(x):\n    open({str(begun)!r}, 'w').close()\n    while True: pass")

    def save_endless():
        begun.unlink(missing_ok=True)
        save(terminal.path, endless)
        while not begun.exists():
            time.sleep(0.01)

    save_endless()
    save(terminal.path, worked(q1=ANSWERS["q1"]))
    seen = terminal.read()
    assert "1 of 3 public checks pass." in seen
    assert "took longer" not in seen
    save_endless()
    os.write(terminal.end, b"q")
    assert terminal.process.wait() == 0
    assert termios.tcgetattr(terminal.inside) == terminal.before


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM])
def test_a_signal_puts_the_terminal_back(number, terminal):
    terminal.read()
    assert termios.tcgetattr(terminal.inside) != terminal.before
    terminal.process.send_signal(number)
    assert terminal.process.wait() == 128 + number
    assert termios.tcgetattr(terminal.inside) == terminal.before
