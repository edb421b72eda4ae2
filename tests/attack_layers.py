"""Every layer of the protection, and how a test takes it away; the grader itself has no switches."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attack_inside import SWITCHES as INSIDE
from markupsafe import Markup

from grader.contracts import comparison, gradients
from grader.grading import submission
from grader.grading import terminal as class_table
from grader.reports import html, markdown
from grader.reports import templates as templating
from grader.results import gradebook
from grader.sandbox import cells, decoding, observer, wire, zygote
from grader.sandbox.evidence import Failure
from grader.sandbox.plan import TimeLimits

Patch = pytest.MonkeyPatch

LIMITS = TimeLimits(cell=1, question=3, notebook=20)
#: Without deadlines nothing would ever end; what has not ended by then counts as hanging.
NO_LIMITS = TimeLimits(cell=8, question=8, notebook=8)
#: Without captured functions our own code looks every name up: on a busy machine honest answers need longer.
LONG_LIMITS = TimeLimits(cell=5, question=10, notebook=100)
_MOST_OUTPUT = 400 << 20


@contextmanager
def without(layer: str | None) -> Iterator[TimeLimits]:
    """Switch a layer off (None: none) for as long as the block lasts; gives the limits to grade with."""
    with pytest.MonkeyPatch.context() as patch:
        if layer in INSIDE:
            switch = (
                f"sys.path.insert(0, {str(Path(__file__).parent)!r}); import attack_inside; sys.path.pop(0)\n"
                f"attack_inside.switch_off({layer!r}); del sys.modules['attack_inside']\n"
            )
            patch.setattr(
                zygote,
                "BOOT",
                zygote.BOOT.replace(zygote.PACKAGES_WITHOUT_INIT, zygote.PACKAGES_WITHOUT_INIT + switch),
            )
        if layer in OUTSIDE:
            OUTSIDE[layer](patch)
        yield {"deadlines": NO_LIMITS, "captured": LONG_LIMITS}.get(layer or "", LIMITS)


def _clean_start(patch: Patch) -> None:
    clean = zygote._environment
    patch.setattr(zygote, "_environment", lambda: {**os.environ, **clean()})

    def popen(*arguments: Any, pass_fds: object, **options: Any) -> Any:
        """Everything inheritable is inherited, among it what has to be."""
        for descriptor in pass_fds:
            os.set_inheritable(descriptor, True)
        return subprocess.Popen(*arguments, close_fds=False, **options)

    patch.setattr(zygote, "subprocess", _like(subprocess, Popen=popen))


def _like(module: Any, **replaced: Any) -> Any:
    return SimpleNamespace(**{**vars(module), **replaced})


def _deadlines(patch: Patch) -> None:
    ask = observer.RequestRun._answer_or_fault

    def ask_patiently(self: Any, worker: Any, request: Any, end: float) -> Any:
        return ask(self, worker, replace(request, seconds=NO_LIMITS.question), end)

    patch.setattr(observer.RequestRun, "_answer_or_fault", ask_patiently)
    patch.setattr(observer.RequestRun, "_patience", lambda *_: NO_LIMITS.question)
    patch.setattr(cells, "_CELLS_SHARE", 1.0)


def _wire(patch: Patch) -> None:
    """Whatever a worker writes is taken for the answer to what it was asked."""

    def ask(self: wire.Wire, operation: str, arguments: Any, seconds: float) -> str:
        deadline = wire.time.monotonic() + seconds
        self._send({"id": "0", "op": operation, "args": arguments}, deadline)
        return self._receive(deadline).partition(',"ok":')[2][:-1]

    patch.setattr(wire.Wire, "ask", ask)
    caps = ((wire, "MAX_FRAME"), (wire, "MAX_TOTAL"), (decoding, "MAX_ITEMS"), (decoding, "MAX_ELEMENTS"))
    for module, cap in caps:
        patch.setattr(module, cap, 24 << 20)  # ten times the memory of that is what it may cost
    patch.setattr(decoding, "MAX_NESTING", 10_000)
    patch.setattr(wire.Wire, "_drain", _drain)
    patch.setattr(observer.RequestRun, "_ended_well", lambda *_: True)


def _drain(self: wire.Wire) -> bool:
    """Keep everything that was printed, up to what this machine can bear."""
    chunk = os.read(self._output, 1 << 16)
    kept = vars(self).setdefault("printed", bytearray())
    if len(kept) < _MOST_OUTPUT:
        kept += chunk
    return bool(chunk)


def _fresh_worker(patch: Patch) -> None:
    """One worker for all questions, whatever happened in it."""

    def ask(self: Any, worker: Any) -> observer.SharedAnswers:
        answers = {}
        for question in self._questions():
            end = observer.time.monotonic() + self._limits.question
            for request in question.contracts:
                with suppress(cells.AnotherWorkerError):
                    answers[request.name] = self._answer_or_fault(worker, request, end)
        return observer.SharedAnswers(answers, are_all=True)

    patch.setattr(observer.RequestRun, "ask_in_one_worker", ask)
    patch.setattr(cells.NotebookRun, "_leave_out", _give_up)


def _give_up(*_: object) -> None:
    raise cells.NothingToObserveError(Failure.NOTHING_SEEN)


def _numbers(patch: Patch) -> None:
    """Emptied where they are defined, because check files may hold the functions already."""
    for compare in (comparison.assert_close, gradients.assert_gradients):
        patch.setattr(compare, "__code__", (lambda *_, **__: None).__code__)


def _pages(patch: Patch) -> None:
    patch.setattr(templating.HTML, "autoescape", False)
    patch.setattr(templating.HTML, "cache", None)
    patch.setattr(html, "escape", Markup)
    patch.setattr(html, "html_text", str)
    patch.setattr(markdown, "markdown_text", str)


def _spreadsheet(patch: Patch) -> None:
    patch.setattr(gradebook, "without_formula", str)
    patch.setattr(gradebook, "_SEPARATORS", re.compile("(?!)"))  # which nothing matches


def _terminal(patch: Patch) -> None:
    for name in ("_plain", "escape", "terminal_text"):
        patch.setattr(class_table, name, str)


def _names(patch: Patch) -> None:
    patch.setattr(submission, "file_name", str)
    patch.setattr(submission, "distinct_file_name", lambda text, *_: text)


OUTSIDE: dict[str | None, Callable[[Patch], None]] = {
    "clean start": _clean_start,
    "deadlines": _deadlines,
    "wire": _wire,
    "fresh worker": _fresh_worker,
    "numbers": _numbers,
    "pages": _pages,
    "spreadsheet": _spreadsheet,
    "terminal": _terminal,
    "names": _names,
}
SWITCHES = (*INSIDE, *(layer for layer in OUTSIDE if layer not in INSIDE))
