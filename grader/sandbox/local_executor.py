"""Observes notebooks on this machine, or on the machines of a Dask scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property

from grader.errors import GraderError
from grader.notebooks.reader import Cell
from grader.sandbox.evidence import Evidence
from grader.sandbox.executor import Executor, Settings, environment_fingerprint
from grader.sandbox.observer import observe
from grader.sandbox.plan import ProbePlan, TimeLimits
from grader.sandbox.zygote import Protection, Zygote


class LocalExecutor(Executor):
    """Workers of this machine, as many at a time as there are jobs, forked from one zygote."""

    def __init__(self, settings: Settings, jobs: int) -> None:
        super().__init__()
        self.max_workers, self._settings = jobs, settings
        self._stack = ExitStack()

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def environment_fingerprint(self) -> Sequence[str]:
        return environment_fingerprint()

    @property
    def prefetch(self) -> int:
        return 2 * self.max_workers

    def _start(self) -> Protection:
        self._zygote = self._stack.enter_context(Zygote(**self._settings))
        return self._zygote.protection

    def observe(self, cells: Sequence[Cell], plan: ProbePlan, limits: TimeLimits) -> Evidence:
        self.start()
        return observe(self._zygote, cells, plan, limits)


def open_executor(settings: Settings, jobs: int, scheduler: str | None) -> Executor:
    """Workers of this machine, or of the machines of a Dask scheduler if there is its address.

    Raises:
        GraderError: Dask is not installed.
    """
    if scheduler is None:
        return LocalExecutor(settings, jobs)
    try:
        from grader.sandbox.dask_executor import DaskExecutor  # noqa: PLC0415 - an extra, half a second
    except ImportError:
        raise GraderError(
            "--scheduler needs Dask, which is not installed here: run pip install '.[cluster]' in the "
            "course's folder, on this machine and on all that shall grade"
        ) from None
    return DaskExecutor(scheduler, settings)
