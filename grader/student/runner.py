"""On a student's machine: the process that runs a student's notebook, and tells what happens, line by line.

It answers one request, a line of JSON on standard input: ``{"handed_out": [source, ...],
"cells": [[number, source], ...], "seconds": s, "tasks": [{"id", "function", "stub", "source"}, ...]}``.
What it says goes, as lines of JSON, into a file of which the notebook knows nothing, so that nothing a cell
prints can be taken for it:

``{"ready": true}``                  torch is imported; ``{"unusable": text}`` where it cannot be
``{"cell": n}``                      cell n begins
``{"cell": n, "trouble": {...}}``    ... and raised
``{"task": id, "status": s}``        ``answered``, ``untouched`` or ``missing``
``{"task": id, "case": n}``          the n-th test of a question begins, counted from 0
``{"task": id, "case": n, "trouble": null or {...}}``  ... and passed or not
``{"done": true}``                   nothing else follows

Where a test takes too long, or a cell on a system without alarms, Python's own watchdog writes into a second
file where it is at that moment.

This is no border: who runs it runs code of their own.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import Any


def main() -> None:
    """Run one request; ``argv`` holds the file to tell into, and the one for the watchdog."""
    channel = _Channel(Path(sys.argv[1]))
    request = _keep_stdin()
    provide_alarm()
    try:
        stage = importlib.import_module("grader.student.runner_cells")  # noqa: TID251 - in a process of its own
    except ImportError as error:
        channel.say({"unusable": str(error)})
        os._exit(1)
    channel.say({"ready": True})
    line = _line(request)
    folder = Path(sys.argv[1]).parent
    if not line:
        _end_with(request, folder)
    threading.Thread(target=_end_with, args=(request, folder), daemon=True).start()
    with Path(sys.argv[2]).open("w", encoding="utf-8") as whereabouts:
        stage.run(json.loads(line), channel.say, whereabouts)
    channel.say({"done": True})
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)  # threads that a notebook left behind are not waited for


def provide_alarm() -> None:
    """Give the names that the worker's cells import to a system without alarms, such as Windows.

    There a cell is only ended from outside, with the process (``process.py``), and the others run again.
    """
    if not hasattr(signal, "setitimer"):
        vars(signal).update(setitimer=lambda *_: None, ITIMER_REAL=0, SIGALRM=signal.SIGTERM)


class _Channel:
    """The file it tells into; a forked copy of this process tells nothing."""

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._file = os.open(path, flags, 0o600)
        self._owner = os.getpid()

    def say(self, event: dict[str, Any]) -> None:
        if os.getpid() == self._owner:
            os.write(self._file, json.dumps(event).encode() + b"\n")


def _keep_stdin() -> int:
    """Keep standard input for ourselves; the notebook gets an empty one, so that `input()` does not wait."""
    request = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return request


def _line(descriptor: int) -> bytes:
    """The first line; nothing where whoever started this is gone."""
    pieces: list[bytes] = []
    while piece := os.read(descriptor, 1 << 16):
        pieces.append(piece)
        if piece.endswith(b"\n"):
            return b"".join(pieces)
    return b""


def _end_with(descriptor: int, folder: Path) -> None:
    """End when the command that started this ends, however it does: it holds the other end open.

    Args:
        descriptor: our end.
        folder: was made for this process alone; whoever would have removed it is gone.
    """
    while os.read(descriptor, 1 << 16):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)
