"""Runs public tests in the process that holds a student's names: a kernel, or the one of ``runner.py``."""

from __future__ import annotations

import ast
import inspect
import linecache
import time
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any

import torch

from grader.contracts.diagnosis import beginning, meaning_of
from grader.runtime.errors import describe_error, function_of
from grader.runtime.graph import graph
from grader.runtime.names import cell_of
from grader.sandbox.values import Raised
from grader.text import rounded, utf8_text, without_controls

_MOST_SECONDS = 1.0  # for pictures of a function that is called again and again
_MOST_LINES = 20
_MOST_CHARACTERS = 500  # characters of a line in a public test's message
_MOST_OF_ERRORS = 200  # characters of a line in an error of student code


gradients_are_on = torch.is_grad_enabled


class GradModeError(AssertionError):
    """A call left gradients disabled, so no later result would be connected to a graph."""


class OtterTest:
    """Stands in for Otter's decorator of tests, because Otter takes a second to import, or is missing."""

    def __init__(self, **_: Any) -> None:
        """Accept the arguments of Otter's decorator, and ignore them."""

    def __call__(self, test: types.FunctionType) -> OtterTest:
        self.test = test
        return self

    def run(self, names: Mapping[str, Any], last: LastCall | None = None) -> None:
        """Call the test with the arguments that it names, as Otter does; `last` records the function's calls.

        Raises:
            GradModeError: gradients were disabled afterwards; they are enabled again.
        """
        given = {name: names.get(name) for name in inspect.signature(self.test).parameters if name != "env"}
        if last is not None:
            given = {name: last.watch(answer) for name, answer in given.items()}
        was_on = gradients_are_on()
        try:
            self.test(**given)
        finally:
            if was_on and not gradients_are_on():
                torch.set_grad_enabled(True)
                raise GradModeError(
                    f"{' or '.join(given)} left gradients switched off: torch.is_grad_enabled() is False"
                    " after the call, so nothing is recorded any more. `with torch.no_grad():` switches them"
                    " on again, also where an error is raised."
                ) from None


def tests_in(source: str, file: str) -> list[OtterTest]:
    """The tests of a public check; registers their source lines under a file name."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    tree = ast.parse(source, file)
    tree.body = [node for node in tree.body if getattr(node, "module", None) != "otter.test_files"]
    names: dict[str, Any] = {"__name__": "public check", "test_case": OtterTest}
    exec(compile(tree, file, "exec", dont_inherit=True), names)  # noqa: S102 - a released check
    return [value for value in names.values() if isinstance(value, OtterTest)]


class LastCall:
    """Records the graph of the arguments and the result of a function's last call.

    The graph is recorded as data, so it keeps no tensor alive that a test expects to be freed.
    """

    def __init__(self) -> None:
        self.graph: dict[str, Any] | None = None
        self._seconds = 0.0  # seconds spent on recording graphs

    def watch(self, answer: Any) -> Any:
        """A function that records its calls; anything else is returned unchanged."""
        if not isinstance(answer, types.FunctionType):
            return answer

        @wraps(answer)
        def watched(*arguments: Any, **options: Any) -> Any:
            result, begun, self.graph = answer(*arguments, **options), time.monotonic(), None
            if self._seconds < _MOST_SECONDS:
                with suppress(Exception):  # it is only a picture
                    given = inspect.signature(answer).bind(*arguments, **options).arguments
                    self.graph = graph(**{"returned": result, **given})
                self._seconds += time.monotonic() - begun
            return result

        return watched


def failure_of(error: BaseException, own: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """An exception described for students, in the fields of ``check.Failure``.

    Args:
        own: the file the file of the public test, whose assertions have messages, or of the cell that ran.
        names: the notebook's names; code with these globals belongs to the notebook.
    """
    raising, number = _place(_last(error, lambda _: True))
    said = isinstance(error, GradModeError) or (isinstance(error, AssertionError) and raising == own)
    original = (said and error.__cause__) or error  # an error after which a test cannot continue
    trace = _in_notebook(original, names)
    file, line = _place(trace)
    description = describe_error(error)
    kind, text = description["types"][0], description["text"]
    if isinstance(error, SyntaxError) and error.filename == own:
        file, line, text = own, error.lineno or 0, error.msg
    if isinstance(error, AssertionError) and not text:
        text = linecache.getline(raising, number).strip()
    code, cause = linecache.getline(file, line).strip(), ""
    if original is not error or not said:
        first = describe_error(original)
        cause = meaning_of(Raised(tuple(first["types"]), first["text"], "", line=code)) or ""
    if not said:
        text = beginning(text) if cause else text
        text = f"stopped with {kind}: {text}" if text else f"stopped with {kind}"
    return {
        "text": _bounded(rounded(text) if said else text, _MOST_CHARACTERS if said else _MOST_OF_ERRORS),
        "meaning": cause,
        "cell": cell_of(file),
        "line": line,
        "function": function_of(trace.tb_frame) if trace else "",
        "code": _bounded(code, _MOST_OF_ERRORS),
        "said": said,
        "kind": kind,
    }


def _bounded(text: str, longest: int) -> str:
    """Text of a notebook, shortened for people, and without control characters."""
    lines = without_controls(utf8_text(text)).splitlines()
    shown = [line if len(line) <= longest else f"{line[:longest]} ..." for line in lines[:_MOST_LINES]]
    return "\n".join([*shown, "..."] if len(lines) > _MOST_LINES else shown)


def _in_notebook(error: BaseException | None, names: Mapping[str, Any]) -> types.TracebackType | None:
    """The innermost traceback entry in the notebook, of an error or otherwise of its cause."""
    trace = None
    while error is not None and trace is None:
        trace = _last(error, lambda entry: entry.tb_frame.f_globals is names)
        error = error.__cause__ or error.__context__
    return trace


def _last(
    error: BaseException, is_wanted: Callable[[types.TracebackType], bool]
) -> types.TracebackType | None:
    """The innermost entry of a traceback for which a condition holds."""
    last, trace = None, error.__traceback__
    while trace is not None:
        last = trace if is_wanted(trace) else last
        trace = trace.tb_next
    return last


def _place(trace: types.TracebackType | None) -> tuple[str, int]:
    return (trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace else ("", 0)
