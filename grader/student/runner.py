"""The process that runs a student's notebook on their machine, and writes what happens, line by line.

It answers one request, a line of JSON on standard input: ``{"handed_out": [source, ...],
"cells": [[number, source], ...], "seconds": s, "questions": [{"id", "function", "stub", "source"}, ...]}``.
Events go, as lines of JSON, into a file that the notebook does not know, so that no output of a cell is taken
for an event:

``{"ready": true}``                  torch is imported; ``{"unusable": text}`` where it cannot be
``{"cell": n}``                      cell n begins
``{"cell": n, "failure": {...}}``    ... and raised
``{"question": id, "status": s}``    ``answered``, ``untouched`` or ``missing``
``{"question": id, "test": n}``      the n-th test of a question begins, counted from 0
``{"question": id, "test": n, "failure": null or {...}}``  ... and passed or not
``{"done": true}``                   nothing else follows

Where a cell or a test takes too long, Python's watchdog writes into a second file where it is at that moment.
This module is loaded before torch is, so that a missing torch can be told.
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
    """Run a request; ``argv`` names the file for events and the file for the watchdog."""
    events = _Events(Path(sys.argv[1]))
    request = _keep_stdin()
    _provide_alarm()
    try:
        cells = importlib.import_module("grader.student.runner_cells")  # noqa: TID251 - in a process of its own
    except ImportError as error:
        events.write({"unusable": str(error)})
        os._exit(1)
    events.write({"ready": True})
    line = _line(request)
    folder = Path(sys.argv[1]).parent
    if not line:
        _end_with(request, folder)
    threading.Thread(target=_end_with, args=(request, folder), daemon=True).start()
    with Path(sys.argv[2]).open("w", encoding="utf-8") as watchdog:
        cells.run(json.loads(line), events.write, watchdog)
    events.write({"done": True})
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)  # threads that a notebook left behind are not waited for


class _Events:
    """The file of events; a forked copy of this process writes nothing."""

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._file = os.open(path, flags, 0o600)
        self._owner = os.getpid()

    def write(self, event: dict[str, Any]) -> None:
        if os.getpid() == self._owner:
            os.write(self._file, json.dumps(event).encode() + b"\n")


def _provide_alarm() -> None:
    """Give the names that the worker's cells import to a system without alarms, such as Windows."""
    if not hasattr(signal, "setitimer"):
        vars(signal).update(setitimer=lambda *_: None, ITIMER_REAL=0, SIGALRM=signal.SIGTERM)


def _keep_stdin() -> int:
    """Keep standard input for the request; the notebook gets an empty one, so that `input()` cannot wait."""
    request = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return request


def _line(descriptor: int) -> bytes:
    """The first line; empty where the command that started this is gone."""
    pieces: list[bytes] = []
    while piece := os.read(descriptor, 1 << 16):
        pieces.append(piece)
        if piece.endswith(b"\n"):
            return b"".join(pieces)
    return b""


def _end_with(descriptor: int, folder: Path) -> None:
    """End, and remove this process's folder, when the command that holds the other end ends."""
    while os.read(descriptor, 1 << 16):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)
