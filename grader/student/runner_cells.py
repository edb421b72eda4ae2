"""Runs cells as grading does, then public tests, in the process of ``runner.py``."""

from __future__ import annotations

import faulthandler
import functools
import inspect
import linecache
import sys
import types
import warnings
from collections.abc import Callable
from typing import IO, Any

import torch

from grader.checks.diagnosis import rebinding
from grader.sandbox.facts import Rebound
from grader.sandbox.worker import lazy_imports
from grader.sandbox.worker.cells import CellTimeout, Notebook, install_fakes
from grader.sandbox.worker.errors import describe_error, innermost, rebound
from grader.sandbox.worker.graph import graph
from grader.sandbox.worker.names import answer_status, cell_of
from grader.text import utf8_text, without_controls

_GRACE = 2.0  # seconds for a cell to heed its alarm
_MOST_LINES = 20
_MOST_CHARACTERS = 500  # in a line that a public test says
_MOST_OF_ERRORS = 200  # in a line of an error of the student's code


def run(request: dict[str, Any], write: Callable[[dict[str, Any]], None], watchdog: IO[str]) -> None:
    """Run the cells of a request, then the public tests of its questions, see ``runner.py``.

    When its time is up a cell ends by its own alarm. A cell without one, or a test, ends the process: the
    file `watchdog` gets the line at which it is.
    """
    seconds = request["seconds"]
    lazy_imports.install()
    notebook = Notebook()
    install_fakes(notebook)
    notebook.begin(request["handed_out"])
    for number, source in request["cells"]:
        write({"cell": number})
        faulthandler.dump_traceback_later(seconds + _GRACE, exit=True, file=watchdog)
        error = notebook.run(number, source, seconds)
        faulthandler.cancel_dump_traceback_later()
        if isinstance(error, CellTimeout):
            late = f"took longer than {seconds:g} s, and was stopped"
            write({"cell": number, "failure": {**_failure(error, "", notebook), "text": late}})
        elif error is not None:
            write({"cell": number, "failure": _failure(error, f"<cell {number}>", notebook)})
    notebook.bindings.put_back()
    otter = types.ModuleType("otter.test_files")
    vars(otter)["test_case"] = OtterTest
    sys.modules["otter.test_files"] = otter
    for question in request["questions"]:
        _check_question(question, request, notebook, write, watchdog)


def _check_question(
    question: dict[str, Any],
    request: dict[str, Any],
    notebook: Notebook,
    write: Callable[[dict[str, Any]], None],
    watchdog: IO[str],
) -> None:
    """Run the public tests of a question, as far as the depth of the request says; see ``check.Depth``."""
    identity, function = question["id"], question["function"]
    status = "answered" if function in notebook.names else "missing"
    if question["stub"]:
        status = answer_status(question["stub"], function, notebook.names, notebook.sources)
    write({"question": identity, "status": status})
    if status == "missing" or (status == "untouched" and request["depth"] == "answers"):
        return
    names, file, draws = notebook.names, f"<public check of {identity}>", request["depth"] == "graphs"
    recorded, last_call = record_calls(names[function])
    if draws:
        names = {**names, function: recorded}
    for number, test in enumerate(_tests(question["source"], file)):
        write({"question": identity, "test": number})
        faulthandler.dump_traceback_later(request["seconds"], exit=True, file=watchdog)
        failure = _run_test(test, names, file, notebook)
        faulthandler.cancel_dump_traceback_later()
        write({"question": identity, "test": number, "failure": failure})
        if draws and failure is not None:
            break  # the call that went wrong is drawn
    if draws:
        write({"question": identity, "graph": graph(**last_call)})


def record_calls(function: Any) -> tuple[Any, dict[str, Any]]:
    """A function in the place of another, and what its last call returned and was given, by name.

    A class is left as it is, because tests ask for more of it than a call.
    """
    last: dict[str, Any] = {}
    if isinstance(function, type) or not callable(function):
        return function, last

    @functools.wraps(function)
    def recorded(*args: Any, **named: Any) -> Any:
        last.clear()
        try:
            given = inspect.signature(function).bind(*args, **named).arguments
        except (TypeError, ValueError):  # it is called in a way that it does not take, or hides how
            given = {"given": args, **named}
        last.update(given)
        result = function(*args, **named)
        last.clear()
        last.update({"returned": result, **given})
        return result

    return recorded, last


class OtterTest:
    """Stands in for Otter's decorator of tests, because Otter takes a second to import."""

    def __init__(self, **_: Any) -> None:
        """Take what Otter would show around a test, and show nothing of it."""

    def __call__(self, test: types.FunctionType) -> OtterTest:
        self.test = test
        return self

    def run(self, names: dict[str, Any]) -> None:
        """Call the test with what it asks for by name, as Otter does."""
        code = self.test.__code__
        asked = code.co_varnames[: code.co_argcount]
        self.test(**{name: names if name == "env" else names.get(name) for name in asked})


def _tests(source: str, file: str) -> list[OtterTest]:
    """The tests of a public check, in the modes of a fresh notebook.

    Between tests nothing is put back, as in Jupyter: the next test sees that a function left gradients off.
    """
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "public check"}
    exec(compile(source, file, "exec", dont_inherit=True), names)  # noqa: S102 - what was handed out
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    return [value for value in names.values() if isinstance(value, OtterTest)]


def _run_test(test: OtterTest, names: dict[str, Any], file: str, notebook: Notebook) -> dict[str, Any] | None:
    """What went wrong in a test from this file, which gets these names; None where it passed."""
    try:
        with warnings.catch_warnings():
            test.run(names)
    except BaseException as error:  # noqa: BLE001 - SystemExit too is the student's function's doing
        return _failure(error, file, notebook)
    return None


def _failure(error: BaseException, own: str, notebook: Notebook) -> dict[str, Any]:
    """An exception as a student has to know it, in the fields of ``check.Failure``.

    What an assert in the file ``own`` says is a test's text; the place is the nearest line of the notebook.
    """
    description = describe_error(error)
    kind, text = description["types"][0], description["text"]
    if (behind := rebound(error, notebook.bindings, notebook.names)) is not None:
        text = f"{text} ({rebinding(Rebound(**behind))})"
    file, line = _place(_in_notebook(error))
    if isinstance(error, SyntaxError) and error.filename == own:
        file, line, text = own, error.lineno or 0, error.msg
    raising, number = _place(innermost(error, ""))
    said = isinstance(error, AssertionError) and raising == own
    if isinstance(error, AssertionError) and not text:
        text = linecache.getline(raising, number).strip()
    if not said:
        text = f"stopped with {kind}: {text}" if text else f"stopped with {kind}"
    return {
        "text": _bounded(text, _MOST_CHARACTERS if said else _MOST_OF_ERRORS),
        "cell": cell_of(file),
        "line": line,
        "code": _bounded(linecache.getline(file, line).strip(), _MOST_OF_ERRORS),
        "said": said,
        "kind": kind,
    }


def _bounded(text: str, longest: int) -> str:
    """Text of a notebook, cut to what a person reads, and without characters that move a cursor."""
    lines = without_controls(utf8_text(text)).splitlines()
    shown = [line if len(line) <= longest else f"{line[:longest]} ..." for line in lines[:_MOST_LINES]]
    return "\n".join([*shown, "..."] if len(lines) > _MOST_LINES else shown)


def _in_notebook(error: BaseException | None) -> types.TracebackType | None:
    """The innermost entry of the notebook on the way to an error, else to its cause."""
    trace = None
    while error is not None and trace is None:
        trace, error = innermost(error), error.__cause__ or error.__context__
    return trace


def _place(trace: types.TracebackType | None) -> tuple[str, int]:
    return (trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace else ("", 0)
