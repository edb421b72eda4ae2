"""The process that runs a student's notebook on their machine, and writes its events, line by line.

It answers one request, a line of JSON on standard input: ``{"demonstrations": [source, ...],
"cells": [[number, source], ...], "seconds": s, "in_full": bool,
"questions": [{"id", "function", "starter_code", "source", "checks"}, ...]}``. ``in_full`` is documented in
``check.check``; ``checks`` has the numbers of the cells that call the public check.
Events go, as lines of JSON, into a file that the notebook does not know, so that no output of a cell is taken
for an event; a failure has the fields of ``check.Failure``:

``{"ready": true}``                  torch is imported; ``{"unusable": text}`` where it cannot be
``{"cell": n}``                      cell n begins
``{"cell": n, "failure": {...}}``    ... and raised
``{"question": id, "status": s}``    ``answered``, ``untouched`` or ``missing``
``{"question": id, "test": n}``      the n-th test of a question begins, counted from 0
``{"question": id, "test": n, "failure": null or {...}}``  ... and passed or not
``{"done": true}``                   nothing else follows

If a cell or a test takes too long, Python's watchdog writes the present line into a second file and ends the
process. This module is loaded before torch, so that it can report that torch is missing.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

_START_SECONDS = 180.0  # a slow disk that reads torch for the first time


def main() -> None:
    """Run a request; ``argv`` names the file for events and the file for the watchdog."""
    write = _events(Path(sys.argv[1]))
    watchdog = Path(sys.argv[2]).open("w", encoding="utf-8")  # noqa: SIM115 - open to the end
    faulthandler.dump_traceback_later(_START_SECONDS, exit=True, file=watchdog)
    request = _keep_stdin()
    try:
        cells = importlib.import_module("grader.student.runner_cells")  # noqa: TID251 - in a process of its own
    except ImportError as error:
        write({"unusable": str(error)})
        os._exit(1)
    faulthandler.cancel_dump_traceback_later()  # it may be long until somebody asks
    write({"ready": True})
    line = request.readline()  # empty if the command that started this is gone
    lifeline = threading.Thread(target=_end_with, args=(request,), daemon=True)
    lifeline.start()
    if line:
        cells.run(json.loads(line), write, watchdog)
        write({"done": True})
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)  # threads that a notebook left behind are not waited for
    lifeline.join()


def _events(path: Path) -> Callable[[dict[str, Any]], None]:
    """A function that writes an event; a forked copy of this process writes nothing."""
    file, owner = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)), os.getpid()

    def write(event: dict[str, Any]) -> None:
        if os.getpid() == owner:
            os.write(file, json.dumps(event).encode() + b"\n")

    return write


def _keep_stdin() -> BinaryIO:
    """Keep standard input for the request; the notebook gets an empty one, so that `input()` cannot wait."""
    request = os.fdopen(os.dup(0), "rb")
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - it is no path on Windows
        os.dup2(nothing.fileno(), 0)
    return request


def _end_with(request: BinaryIO) -> None:
    """End, and remove this process's folder, when the command that holds the other end ends."""
    request.read()
    shutil.rmtree(Path(sys.argv[1]).parent, ignore_errors=True)
    os._exit(1)
