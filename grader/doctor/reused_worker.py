"""Observes known answers in workers that serve several notebooks, one after the other.

A fork, and the first use of pages shared with the zygote, take longer than the contracts of a question: 75 ms
of processor time, here 50. Known answers are the course's own, so they may share a worker; students'
notebooks never do. Each begins with names, modes and random numbers of its own. If a notebook fails, or its
traces cannot be removed, it is observed like a student's in a worker of its own, and the next gets a new
worker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from threading import Lock, local
from typing import Self

from grader.notebooks.reader import Cell
from grader.sandbox.decoding import MalformedError, parse_exactly
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe, observe_with_sensitivity
from grader.sandbox.plan import ObservationPlan, TimeLimits
from grader.sandbox.wire import MAX_TOTAL, WireError
from grader.sandbox.zygote import WorkerProcess, Zygote

_BEGIN_SECONDS = 2.0  # for a worker that was used to begin another notebook
_MAX_NOTEBOOKS = 40  # in a worker, so that it keeps little of them in its memory


class ReusedWorker:
    """A worker that serves several notebooks, one after the other, in a single thread."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote = zygote
        self._worker: WorkerProcess | None = None
        self._notebooks = 0
        self._is_lent = False

    def observe(self, cells: Sequence[Cell], asked: ObservationPlan, limits: TimeLimits) -> Evidence:
        """As `grader.sandbox.observer.observe`."""
        self._is_lent = False
        try:
            evidence = observe(self, cells, asked, limits)
        except _SpoiledError:
            evidence = None
        if evidence is None or evidence.fault or evidence.starved:
            self.close()
            return observe(self._zygote, cells, asked, limits)
        if evidence.patched or evidence.traces:
            self.close()
        return evidence

    def worker(self) -> AbstractContextManager[WorkerProcess]:
        """The worker, once for each notebook: an observer that asks for a second worker has met a fault.

        Raises:
            _SpoiledError: this is the second time, or the notebook before has ended the worker.
        """
        if self._is_lent:
            raise _SpoiledError
        self._is_lent = True
        is_full = self._notebooks >= _MAX_NOTEBOOKS
        if self._worker is not None and (is_full or self._worker.wire.received > MAX_TOTAL / 2):
            self.close()
        if self._worker is None:
            self._worker = self._zygote.worker()
        else:
            try:
                parse_exactly(0, self._worker.wire.ask("anew", {}, _BEGIN_SECONDS))  # threads that still run
            except (MalformedError, WireError):
                raise _SpoiledError from None
        self._notebooks += 1
        return nullcontext(self._worker)

    def close(self) -> None:
        """End the worker, if there is one."""
        if self._worker is not None:
            with self._worker:
                self._worker, self._notebooks = None, 0


class _SpoiledError(Exception):
    """The worker is of no more use."""


class ObserverPool:
    """Observes notebooks, up to `jobs` at a time; usable as a context manager.

    The zygote starts when it is first needed, so that a doctor who remembers everything starts no process.
    """

    def __init__(self, start: Callable[[], AbstractContextManager[Zygote]], jobs: int) -> None:
        self._start, self._starting, self._stack = start, Lock(), ExitStack()
        self._started: Zygote | None = None
        self._of_thread = local()
        self._pool = ThreadPoolExecutor(jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._stack.close()

    def prepare(self) -> None:
        """Begin to start the zygote, which takes two seconds, while the caller goes on."""
        self._pool.submit(self._zygote)

    def submit(
        self, cells: Sequence[Cell], asked: ObservationPlan, limits: TimeLimits, *, alone: bool = False
    ) -> Future[Evidence]:
        """The evidence of a notebook, later; with `alone`, from a worker of its own, as for a student."""
        return self._pool.submit(self._look, cells, asked, limits, alone)

    def submit_with_sensitivity(
        self, cells: Sequence[Cell], asked: ObservationPlan, limits: TimeLimits
    ) -> Future[Evidence]:
        """The evidence of a reference, with how sensitive its facts are to rounding, later."""

        def seen(plan: ObservationPlan) -> Evidence:
            return self._look(cells, plan, limits, alone=True)

        return self._pool.submit(observe_with_sensitivity, seen, asked)

    def _zygote(self) -> Zygote:
        with self._starting:
            if self._started is None:
                self._started = self._stack.enter_context(self._start())
            return self._started

    def _look(
        self, cells: Sequence[Cell], asked: ObservationPlan, limits: TimeLimits, alone: bool
    ) -> Evidence:
        zygote = self._zygote()
        if alone:
            return observe(zygote, cells, asked, limits)
        if not hasattr(self._of_thread, "worker"):
            self._of_thread.worker = ReusedWorker(zygote)
            self._stack.callback(self._of_thread.worker.close)
        worker: ReusedWorker = self._of_thread.worker
        return worker.observe(cells, asked, limits)
