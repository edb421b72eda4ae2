"""Runs cells as grading does, then public tests, in the process of ``runner.py``."""

from __future__ import annotations

import faulthandler
import warnings
from collections.abc import Callable
from typing import IO, Any

import torch

from grader.runtime import lazy_imports
from grader.runtime.cells import CellTimeout, Notebook, install_fakes
from grader.student.public_tests import OtterTest, failure_of, tests_in
from grader.text import quoted, some

_GRACE = 2.0  # seconds for a cell to heed its alarm
_MOST_SKIPPED = 3  # statements that the failure of a cell names


def run(request: dict[str, Any], write: Callable[[dict[str, Any]], None], watchdog: IO[str]) -> None:
    """Run the cells of a request, then the public tests of its questions, see ``runner.py``.

    When its time is up a cell ends by its own alarm. A cell without one, or a test, ends the process: the
    file `watchdog` gets the line at which it is.
    """
    seconds = request["seconds"]
    lazy_imports.install()
    notebook = Notebook()
    install_fakes(notebook)
    questions = request["questions"]
    notebook.set_assignment(
        request["demonstrations"],
        {question["function"]: question["starter_code"] for question in questions},
        {question["function"]: question["checks"] for question in questions},
    )
    for number, source in request["cells"]:
        write({"cell": number})
        faulthandler.dump_traceback_later(seconds + _GRACE, exit=True, file=watchdog)
        error = notebook.run(number, source, seconds)
        faulthandler.cancel_dump_traceback_later()
        if isinstance(error, CellTimeout):
            late = f"took longer than {seconds:g} s, and was stopped"
            write({"cell": number, "failure": {**failure_of(error, "", notebook.names), "text": late}})
        elif error is not None:
            failure = failure_of(error, f"<cell {number}>", notebook.names)
            if notebook.skipped:
                skipped = some([quoted(statement.text) for statement in notebook.skipped], _MOST_SKIPPED)
                failure["text"] += f"\nskipped below it: {', '.join(skipped)}"
            write({"cell": number, "failure": failure})
    statuses = notebook.survey()
    for question in questions:
        status = statuses[question["function"]]
        notebook.show(question["function"])
        _check_question({**question, "status": status}, request, notebook, write, watchdog)


def _check_question(
    question: dict[str, Any],
    request: dict[str, Any],
    notebook: Notebook,
    write: Callable[[dict[str, Any]], None],
    watchdog: IO[str],
) -> None:
    """Run the public tests of a question; if its answer is starter code, only where all is asked for."""
    identity, status = question["id"], question["status"]
    write({"question": identity, "status": status})
    is_run = status == "answered" or (status == "untouched" and request["in_full"])
    file = f"<public check of {identity}>"
    tests = tests_in(question["source"], file) if is_run else []
    # In the modes of a fresh notebook. Between tests nothing is put back, as in Jupyter: the next test
    # sees that a function left gradients off.
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    for number, test in enumerate(tests):
        write({"question": identity, "test": number})
        faulthandler.dump_traceback_later(request["seconds"], exit=True, file=watchdog)
        failure = _run_test(test, file, notebook)
        faulthandler.cancel_dump_traceback_later()
        write({"question": identity, "test": number, "failure": failure})


def _run_test(test: OtterTest, file: str, notebook: Notebook) -> dict[str, Any] | None:
    """The failure of a test from this file; None if it passed."""
    try:
        with warnings.catch_warnings():
            test.run(notebook.names)
    except BaseException as error:  # noqa: BLE001 - SystemExit too is the student's function's doing
        return failure_of(error, file, notebook.names)
    return None
