"""Outside: what the kernel counted of a process, to tell who was slow from who was kept waiting."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_STARVED_SHARE = 0.25
_ALL_THREADS = 2  # in a process's clock number, see clock_getcpuclockid(3) and the kernel's posix-timers.h
_COUNTS_WAITING = Path("/proc/self/schedstat").exists()


@dataclass(frozen=True)
class Clock:
    """What the kernel counted of a process up to some moment, in seconds.

    Where it does not count, all time is suspected to be waiting: nobody shall pay for a busy machine.

    Attributes:
        now: the moment.
        waited: how long it could have run and was not let, because others had the processors.
        computed: how long its threads have run, all together.
    """

    now: float
    waited: float
    computed: float

    def was_starved_until(self, later: Clock) -> bool:
        """Whether others had so much of the time in between that the process is not to blame for its end.

        One whose own threads had a processor all the time is: they may have kept each other waiting.
        """
        seconds = later.now - self.now
        waited, computed = later.waited - self.waited, later.computed - self.computed
        return waited > _STARVED_SHARE * seconds and computed < (1 - _STARVED_SHARE) * seconds


class ProcessClock:
    """The clock of a process; its file is opened once, because many requests look at it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._waits = _opened(f"/proc/{pid}/schedstat") if _COUNTS_WAITING else None

    def read(self) -> Clock:
        """How the process has spent its life up to now."""
        now = time.monotonic()
        if self._waits is None:
            return Clock(now, waited=now, computed=0.0)
        try:
            waited = int(os.pread(self._waits, 100, 0).split()[1])
            computed = time.clock_gettime(~self._pid << 3 | _ALL_THREADS)
        except OSError:  # it has ended by itself
            return Clock(now, waited=0.0, computed=0.0)
        return Clock(now, waited=waited / 1e9, computed=computed)

    def close(self) -> None:
        """Close its file."""
        if self._waits is not None:
            os.close(self._waits)


def _opened(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # it has ended already
        return None
