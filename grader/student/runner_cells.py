"""Runs cells as grading does, then public tests, in the process of ``runner.py``."""

from __future__ import annotations

import faulthandler
import linecache
import sys
import types
import warnings
from collections.abc import Callable
from typing import IO, Any

from grader.checks.diagnosis import rebinding
from grader.sandbox.facts import Rebound
from grader.sandbox.worker import lazy_imports
from grader.sandbox.worker.cells import CellTimeout, Notebook
from grader.sandbox.worker.errors import describe_error, rebound
from grader.sandbox.worker.fakes import install
from grader.sandbox.worker.names import answer_status, cell_of

Write = Callable[[dict[str, Any]], None]
Watch = Callable[[], None]


def run(request: dict[str, Any], write: Write, watchdog: IO[str]) -> None:
    """Run the cells of a request, then the public tests of its questions, see ``runner.py``.

    The file `watchdog` gets the line at which a cell or a test is when its time is up.
    """

    def watch() -> None:
        faulthandler.dump_traceback_later(request["seconds"], file=watchdog)

    lazy_imports.install()
    notebook = Notebook()
    install(notebook)
    notebook.begin(request["handed_out"])
    for number, source in request["cells"]:
        write({"cell": number})
        watch()
        error = notebook.run(number, source, request["seconds"])
        faulthandler.cancel_dump_traceback_later()
        if error is not None:
            write({"cell": number, "failure": _failure(error, f"<cell {number}>", notebook)})
    notebook.bindings.put_back()
    _offer_otter()
    for question in request["questions"]:
        status = _status(question, notebook)
        write({"question": question["id"], "status": status})
        if status == "answered" and question["source"]:
            _test(question, notebook, write, watch)
            faulthandler.cancel_dump_traceback_later()


def _status(question: dict[str, Any], notebook: Notebook) -> str:
    if question["stub"]:
        return answer_status(question["stub"], question["function"], notebook.names, notebook.sources)
    return "answered" if question["function"] in notebook.names else "missing"


def _test(question: dict[str, Any], notebook: Notebook, write: Write, watch: Watch) -> None:
    """Run the tests of one question, each watched, from the modes of a fresh notebook on.

    Between tests nothing is put back, as in Jupyter: the next test sees that a function left gradients off.
    """
    identity, source = question["id"], question["source"]
    file = f"<public check of {identity}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "public check"}
    exec(compile(source, file, "exec", dont_inherit=True), names)  # noqa: S102 - what was handed out
    tests = [value for value in names.values() if isinstance(value, OtterTest)]
    _put_modes_back()
    for number, test in enumerate(tests):
        write({"question": identity, "test": number})
        watch()
        failure = None
        try:
            with warnings.catch_warnings():
                test.run(notebook.names)
        except BaseException as error:  # noqa: BLE001 - SystemExit too is the student's function's doing
            failure = _failure(error, file, notebook)
        write({"question": identity, "test": number, "failure": failure})


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


def _offer_otter() -> None:
    module = types.ModuleType("otter.test_files")
    vars(module)["test_case"] = OtterTest
    sys.modules["otter.test_files"] = module


def _put_modes_back() -> None:
    import torch  # noqa: PLC0415 - the notebook's own, whatever it did to it

    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)


def _failure(error: BaseException, own: str, notebook: Notebook) -> dict[str, Any]:
    """An exception as a student has to know it.

    ``late``: time was up. ``said``: the text is from the test in the file ``own``. ``cell``, ``line`` and
    ``code``: the nearest line of the notebook, or None, 0 and "".
    """
    description = describe_error(error)
    kind, text = description["types"][0], description["text"]
    if (behind := rebound(error, notebook.bindings, notebook.names)) is not None:
        text = f"{text} ({rebinding(Rebound(**behind))})"
    file, line = _line_of_notebook(error)
    if isinstance(error, SyntaxError) and error.filename == own:
        file, line, text = own, error.lineno or 0, error.msg
    if isinstance(error, AssertionError) and not text:
        text = linecache.getline(*_deepest(error)).strip()
    return {
        "kind": kind,
        "text": text,
        "late": isinstance(error, CellTimeout),
        "said": isinstance(error, AssertionError) and _deepest(error)[0] == own,
        "cell": cell_of(file),
        "line": line,
        "code": linecache.getline(file, line).strip()[:200],
    }


def _line_of_notebook(error: BaseException | None) -> tuple[str, int]:
    """The innermost line of the notebook on the way to an error, else to its cause."""
    while error is not None:
        lines = [(file, line) for file, line in _lines(error) if cell_of(file) is not None]
        if lines:
            return lines[-1]
        error = error.__cause__ or error.__context__
    return "", 0


def _deepest(error: BaseException) -> tuple[str, int]:
    return (_lines(error) or [("", 0)])[-1]


def _lines(error: BaseException) -> list[tuple[str, int]]:
    trace, lines = error.__traceback__, []
    while trace is not None:
        lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return lines
