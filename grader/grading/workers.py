"""The executor of a run, and the settings with which its workers are started."""

from __future__ import annotations

from collections.abc import Sequence

from grader.errors import GraderError
from grader.grading.executor import Executor, LocalExecutor, Settings
from grader.grading.submission import Submission
from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import ZygoteProcess


def worker_settings(submissions: Sequence[Submission], limits: TimeLimits, *, sandbox: bool) -> Settings:
    """The settings with which workers for some submissions are started."""
    return {
        "preload": tuple(sorted({module for submission in submissions for module in submission.preload})),
        "sandbox": sandbox,
        "cpu_seconds": int(limits.notebook) + 60,
    }


def open_executor(
    settings: Settings, jobs: int, scheduler: str | None, started: ZygoteProcess | None
) -> Executor:
    """Workers of this machine, `jobs` at a time, or of the machines of a Dask scheduler with this address.

    Raises:
        GraderError: Dask is not installed.
    """
    if scheduler is None:
        return LocalExecutor(settings, jobs, started)
    try:
        from grader.grading.dask_executor import DaskExecutor  # noqa: PLC0415 - an extra, half a second
    except ImportError:
        raise GraderError(
            "--scheduler needs Dask, which is not installed here: run pip install '.[cluster]' in the "
            "course's folder, on this machine and on all that shall grade"
        ) from None
    return DaskExecutor(scheduler, settings)
