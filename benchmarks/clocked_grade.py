"""Outside: `grade` with clocks around its steps, run by ``anatomy.py`` in a process of its own.

    python benchmarks/clocked_grade.py SUBMISSIONS OUT SECONDS.json

A step's time is processor time without that of the steps within it, of whichever thread takes it. Workers
are clocked by what the kernel counted for them from answer to answer.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import resource
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import family_seconds, first_thread_seconds

#: Steps of the outside by what a table calls them; functions as "module:name", all of a class as "*".
STEPS = {
    "course and hidden checks read": (
        "grader.course.master:read_assignment",
        "grader.course.rubric:read_rubric",
        "grader.course.course:Course.fingerprint",
    ),
    "submissions found and read": (
        "grader.grading.submission:find_submissions",
        "grader.notebooks.reader:read_notebook",
    ),
    "observer and wire": ("grader.sandbox.observer:observe",),
    "judging (pytest)": ("grader.grading.judge:judge", "grader.results.result:graded"),
    "pages": (
        "grader.reports.feedback:feedback_markdown",
        "grader.reports.feedback:feedback_html",
        "grader.reports.class_report:report_html",
        "grader.results.gradebook:gradebook",
    ),
    "files of results": ("grader.results.store:ResultsFolder.*",),
    "table on the terminal": ("grader.reports.terminal:print_class",),
}
IMPORTS, REST = "Python and imports", "the rest of the outside"
START, FORKS, CAGE = "start of the zygote", "forks, in the zygote", "fork and cage, in the worker"
INSIDE = {"cell": "cells", "survey": "survey of the names", "probe": "probes", "end": "good-bye"}
ENDS, END = "ends of workers", "end of the zygote"
UNSEEN = "end of Python, and what no clock saw"


class Clocks:
    """Seconds of processor time by step."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._lock = threading.Lock()
        self._within = threading.local()

    def add(self, step: str, seconds: float) -> None:
        """Count some time for a step."""
        with self._lock:
            self.seconds[step] += seconds

    def clocked(self, step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time counted for the step."""

        @functools.wraps(function)
        def measured(*args: Any, **kwargs: Any) -> Any:
            stack = vars(self._within).setdefault("stack", [])
            stack.append(0.0)
            begun = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                spent = time.thread_time() - begun
                self.add(step, spent - stack.pop())
                if stack:
                    stack[-1] += spent

        return measured


def steps() -> list[tuple[str, Any, str, Callable[..., Any]]]:
    """Each step's name, with what holds a function of it, the function's name there, and the function.

    Raises:
        AttributeError: the package has no such function any more.
    """
    found = []
    for step, places in STEPS.items():
        for place in places:
            module, _, name = place.partition(":")
            *owners, attribute = name.split(".")
            owner = functools.reduce(getattr, owners, importlib.import_module(module))
            names = _methods(owner) if attribute == "*" else [attribute]
            found += [(step, owner, name, getattr(owner, name)) for name in names]
    return found


def _methods(owner: Any) -> list[str]:
    """What a class offers to others."""
    return [name for name, value in vars(owner).items() if inspect.isfunction(value) and name[0] != "_"]


def clock_the_outside(clocks: Clocks) -> None:
    """Put a clock around every step, wherever its function is known by name."""
    for step, owner, attribute, function in steps():
        measured = clocks.clocked(step, function)
        owners = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "grader"]
        for holder in [owner, *owners]:
            if vars(holder).get(attribute) is function:
                setattr(holder, attribute, measured)


def clock_the_inside(clocks: Clocks) -> None:
    """Read what the kernel counted whenever the zygote or a worker has answered."""
    from grader.sandbox.wire import Wire  # noqa: PLC0415 - counted as imports
    from grader.sandbox.zygote import Zygote  # noqa: PLC0415

    ask, begin, fork, close = Wire.ask, Zygote.__init__, Zygote.worker, Zygote.close
    spent: dict[Wire, tuple[int, float]] = {}

    def begun(zygote: Any, **settings: Any) -> None:
        begin(zygote, **settings)
        clocks.add(START, family_seconds(zygote._process.pid))  # noqa: SLF001 - nobody else asks for it
        zygote.at_start = first_thread_seconds(zygote._process.pid)  # noqa: SLF001

    def forked(zygote: Zygote) -> Any:
        worker = fork(zygote)
        spent[worker.wire] = worker.pid, 0.0
        answered(worker.wire, "survey", {"stubs": {}}, 60.0, step=CAGE)
        return worker

    def answered(wire: Wire, operation: str, arguments: Any, seconds: float, step: str = "") -> Any:
        answer = ask(wire, operation, arguments, seconds)
        pid, before = spent[wire]
        spent[wire] = pid, first_thread_seconds(pid)
        clocks.add(step or INSIDE.get(operation, operation), spent[wire][1] - before)
        return answer

    def closed(zygote: Any) -> None:
        family = family_seconds(zygote._process.pid)  # noqa: SLF001
        clocks.add(FORKS, first_thread_seconds(zygote._process.pid) - zygote.at_start)  # noqa: SLF001
        clocks.add(
            ENDS, family - sum(clocks.seconds[step] for step in (START, FORKS, CAGE, *INSIDE.values()))
        )
        close(zygote)
        waited = resource.getrusage(resource.RUSAGE_CHILDREN)
        clocks.add(END, waited.ru_utime + waited.ru_stime - family)

    Wire.ask, Zygote.__init__, Zygote.worker, Zygote.close = answered, begun, forked, closed  # type: ignore[assignment,method-assign]


def main() -> None:
    """Grade, and write what each step took; ``outside`` is this process as a whole."""
    submissions, out, told = sys.argv[1:]
    from grader import cli  # noqa: PLC0415 - an import is a step, too
    from grader.grading.run import grade  # noqa: F401, PLC0415

    clocks = Clocks()
    clocks.add(IMPORTS, time.process_time())
    clock_the_outside(clocks)
    clock_the_inside(clocks)
    cli.main(["grade", submissions, "--out", out], standalone_mode=False)
    outside = time.process_time()
    steps_outside = {IMPORTS, *STEPS}
    seconds = dict(clocks.seconds)
    seconds[REST] = outside - sum(spent for step, spent in seconds.items() if step in steps_outside)
    Path(told).write_text(json.dumps(seconds), encoding="utf-8")


if __name__ == "__main__":
    main()
