"""Observes known answers, several at a time, each in its own worker like a student's notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from threading import Lock
from typing import Self

from grader.notebooks.reader import Cell
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe, observe_perturbed
from grader.sandbox.plan import ObservationPlan, TimeLimits
from grader.sandbox.zygote import Zygote

_MOST_LOOKS = 3  # at a notebook, while other processes have the processors or the memory


class ObserverPool:
    """Observes notebooks, up to `jobs` at a time; usable as a context manager.

    The zygote starts when it is first needed, so a doctor with all results cached starts no process.
    """

    def __init__(self, start: Callable[[], AbstractContextManager[Zygote]], jobs: int) -> None:
        self._start, self._starting, self._stack = start, Lock(), ExitStack()
        self._started: Zygote | None = None
        self._pool = ThreadPoolExecutor(jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._stack.close()

    def prepare(self) -> None:
        """Begin to start the zygote, which takes two seconds, while the caller goes on."""
        self._pool.submit(self._zygote)

    def submit(self, cells: Sequence[Cell], asked: ObservationPlan, limits: TimeLimits) -> Future[Evidence]:
        """The evidence of a notebook, later."""
        return self._pool.submit(self._observe, cells, asked, limits)

    def perturbed(self, cells: Sequence[Cell], asked: ObservationPlan, limits: TimeLimits) -> list[Evidence]:
        """The evidence of a reference while its results are perturbed."""
        return observe_perturbed(lambda plan: self._observe(cells, plan, limits), asked)

    def _zygote(self) -> Zygote:
        with self._starting:
            if self._started is None:
                self._started = self._stack.enter_context(self._start())
            return self._started

    def _observe(self, cells: Sequence[Cell], asked: ObservationPlan, limits: TimeLimits) -> Evidence:
        """The evidence; observed again, as in grading, if other processes used the resources."""
        for _ in range(_MOST_LOOKS):
            evidence = observe(self._zygote(), cells, asked, limits)
            if not evidence.starved:
                break
        return evidence
