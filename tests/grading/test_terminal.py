"""Outside: what people see while a run lasts, on a terminal and in a log."""

import os
import re
import select
import sys
import termios
import time
from contextlib import contextmanager

import pytest
from patience import time_limit
from resuming import Class

from grader import signals as interrupt
from grader.grading.run_summary import Progress
from grader.grading.terminal import class_progress


@contextmanager
def terminal():
    """Both ends of a terminal of a hundred columns."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(ours, (24, 100))
    try:
        yield ours, theirs
    finally:
        os.close(ours)
        os.close(theirs)


def read(descriptor, until=None, seconds=60):
    """What is shown by now, or until a text is."""
    shown, end = "", time.monotonic() + seconds
    while select.select([descriptor], [], [], 0 if until is None else max(0, end - time.monotonic()))[0]:
        shown += os.read(descriptor, 1 << 16).decode()
        if until is not None and until in shown:
            break
    return shown


@contextmanager
def screen():
    """A terminal in the place of stderr; gives a function that reads what it shows."""
    with (
        terminal() as (ours, theirs),
        open(theirs, "w", closefd=False) as stderr,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sys, "stderr", stderr)
        patch.setenv("TERM", "xterm")
        yield lambda: read(ours)


def test_a_terminal_shows_how_far_a_run_is():
    """The step, how many of how many, the time left and the number of errors; then the line is gone."""
    shows = {
        Progress(before=5, total=20): "starting",
        Progress("observing the reference", before=5, total=20): "observing the reference",
        Progress("grading", before=5, total=20): "5/25",
        Progress("grading", before=5, total=20, done=5): "10/25",
        Progress("grading", before=5, total=20, done=10): r"15/25.*0:00:0\d",
        Progress("grading", before=5, total=20, done=10, errors=2): "2 in error",
    }
    seen = ""
    with screen() as shown, class_progress("go on") as tell:
        for progress, text in shows.items():
            tell(progress)
            with time_limit(10):
                while not re.search(text, seen):
                    seen += shown()


def test_a_log_has_a_line_at_the_beginning_every_ten_seconds_and_at_the_end(capfd):
    """What there is to grade, how far it is and how long the rest takes, and how long it took; on stderr."""
    now = 100.0
    with class_progress("go on", lambda: now) as tell:
        tell(Progress("observing the reference"))
        tell(Progress("observing the reference", before=50, total=450))
        now += 9
        for done in range(0, 450, 5):
            now += 1
            tell(Progress("grading", before=50, total=450, done=done, errors=2 if done > 50 else 0))
        tell(Progress("grading", before=50, total=450, done=450, errors=2))
    out, err = capfd.readouterr()
    told = err.splitlines()
    assert out == ""
    assert told[:4] == [
        "450 notebooks to grade, 50 already graded",
        "0 of 450 graded",
        "50 of 450 graded; 0:01:20 left",
        "100 of 450 graded, 2 in error; 0:01:10 left",
    ]
    assert told[-1] == "450 of 450 graded, 2 in error, in 0:01:39"
    assert len(told) == 1 + 9 + 1


@pytest.mark.parametrize(
    ("steps", "lines"),
    [
        (
            [Progress("grading", before=1, total=3, done=done) for done in range(4)],
            ["3 notebooks to grade, 1 already graded", "3 of 3 graded, in 0:00:00"],
        ),
        ([Progress(before=22)], ["0 notebooks to grade, 22 already graded"]),
    ],
    ids=["a small class", "a class that was graded before"],
)
def test_a_quick_run_has_few_lines_in_a_log(capfd, steps, lines):
    """What is done within ten seconds is told at the beginning and at the end, and nothing if that is all."""
    with class_progress("go on", lambda: 0.0) as tell:
        for step in steps:
            tell(step)
    assert capfd.readouterr().err.splitlines() == lines


def test_a_run_that_failed_does_not_say_that_it_is_done(capfd):
    with pytest.raises(KeyError), class_progress("go on", lambda: 0.0) as tell:
        tell(Progress("grading", total=3))
        raise KeyError
    assert capfd.readouterr().err == "3 notebooks to grade, 0 already graded\n"


def test_an_interruption_knows_how_far_it_was(capfd):
    """The sentence of an interruption tells how many are done of how many, and how to go on."""
    nothing = "stopped before anything was graded; run the same command to start again."
    some = "stopped after 10 of 20 notebooks (5 already graded); run the same command to continue."
    with class_progress("run the same command to continue") as tell:
        assert interrupt._sentences[0]() == nothing
        tell(Progress("observing the reference", before=5, total=20))
        assert interrupt._sentences[0]() == nothing
        tell(Progress("grading", before=5, total=20, done=10))
        assert interrupt._sentences[0]() == some


# Makes the terminal on stdin the one whose Ctrl-C comes here, as a shell does.
CONTROLLED = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_ctrl_c_on_a_terminal(tmp_path):
    """While a cell loops: the line is gone, the cursor back, one sentence, status 130."""
    klass = Class(tmp_path)
    out = klass.new_out()
    with terminal() as (ours, theirs):
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        prefix = [sys.executable, "-c", CONTROLLED]
        slow = ("--cell-seconds", "60")  # so that the cell loops until Ctrl-C, however busy the machine is
        with klass.running(out, prefix, slow, env={**os.environ, "TERM": "xterm"}, **streams) as process:
            shown = read(ours, "12/13")
            assert "grading" in shown
            os.write(ours, b"\x03")
            assert process.wait(5) == 130
            last = read(ours)
    sentence = r"\r\x1b\[K" + re.escape("\x1b[?25h") + r"grader: stopped after \d+ of 13 notebooks; .*\r\n$"
    assert re.search(sentence, last), last
