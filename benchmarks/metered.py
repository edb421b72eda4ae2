"""Outside: a zygote whose processor time, and that of its workers, is read as the kernel counts it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from measure import first_thread_seconds

from grader.sandbox.worker_process import WorkerProcess
from grader.sandbox.zygote import Zygote


class MeteredZygote(Zygote):
    """Counts what it spends on workers, and what each of them has spent until its last answer."""

    spent = 0.0

    @property
    def pid(self) -> int:
        """The zygote's process."""
        return self._process.pid

    @contextmanager
    def worker(self) -> Iterator[WorkerProcess]:  # type: ignore[override]
        before = first_thread_seconds(self.pid)
        with super().worker() as worker:
            yield worker
            self.spent += first_thread_seconds(worker.pid)
            self.spent += first_thread_seconds(self.pid) - before
