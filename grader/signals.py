"""Ctrl-C and SIGTERM end a command at once, with a sentence.

A command may end anywhere (while modules are imported, pytest judges, a cell loops), because nothing needs to
be tidied up: every file is complete or not there, and workers end with the zygote, which ends with us.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

_STDERR = 2
_ERASE_LINE_AND_SHOW_CURSOR = "\r\x1b[K\x1b[?25h"  # after a progress bar

_sentences: list[Callable[[], str]] = [lambda: "stopped; run the same command to start again."]


def is_the_command() -> bool:
    """Whether this interpreter was started as ``python -m grader`` or ``grader``, and not by pytest.

    While ``-m`` looks for what to run, which is when a package is imported, ``sys.argv[0]`` is ``-m``.
    """
    name = next(iter(getattr(sys, "argv", [])), "")
    return name == "-m" or Path(name).stem == "grader"  # grader.exe on Windows


def arm() -> None:
    """From now on these signals end the process; an ignored signal, as in a script, stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def when_interrupted(sentence: Callable[[], str]) -> None:
    """Set the function whose sentence is printed when a signal comes."""
    _sentences[:] = [sentence]


def _end(number: int, _frame: object) -> None:
    """Print the sentence and exit, without Python's buffers and locks, which may be in use just now."""
    with contextlib.suppress(OSError):
        is_terminal = os.isatty(_STDERR) and os.environ.get("TERM", "dumb") != "dumb"
        before = _ERASE_LINE_AND_SHOW_CURSOR if is_terminal else ""
        os.write(_STDERR, f"{before}grader: {_sentences[0]()}\n".encode())
    os._exit(128 + number)
