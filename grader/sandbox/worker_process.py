"""A worker process from outside: its pipes, its notices, its end, its processor time."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from grader.sandbox.wire import Wire

_DEATH_SECONDS = 30.0  # from the signal that kills to the end, on a machine that is full
_END_SECONDS = 1.0  # from the end of a process's descriptors to its own
_MAX_NOTICES = 1 << 14  # bytes

_STARVED_SHARE = 0.25
_ALL_THREADS = 2  # in a process's clock number, see clock_getcpuclockid(3) and the kernel's posix-timers.h
_COUNTS_WAITING = Path("/proc/self/schedstat").exists()


@dataclass(frozen=True)
class CpuTimes:
    """What the kernel counted of a process until a moment, in seconds.

    Attributes:
        now: the moment, on the monotonic clock.
        waited: how long it was ready to run while others had the processors. Where the kernel does not
            count this, all time: a busy machine must cost no points.
        computed: how long all its threads have run together.
    """

    now: float
    waited: float
    computed: float

    def was_starved_until(self, later: CpuTimes) -> bool:
        """Whether others took so much of the time in between that the process is not to blame.

        If it computed all the time, its own threads may have kept each other waiting.
        """
        seconds = later.now - self.now
        waited, computed = later.waited - self.waited, later.computed - self.computed
        return waited > _STARVED_SHARE * seconds and computed < (1 - _STARVED_SHARE) * seconds


class WorkerProcess:
    """A confined process with a notebook's names in it; killed, by pidfd, when the block ends.

    `noticed` is the pipe of its notices; `status` returns the wait status of a process that has ended.
    """

    def __init__(
        self, wire: Wire, noticed: int, pidfd: int, pid: int, status: Callable[[int], int | None]
    ) -> None:
        self.wire = wire
        self._noticed = noticed
        os.set_blocking(noticed, False)
        self._pidfd, self.pid, self._status = pidfd, pid, status
        self._schedstat = _opened(f"/proc/{pid}/schedstat") if _COUNTS_WAITING else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        except ProcessLookupError:
            pass
        else:
            is_readable(self._pidfd, _DEATH_SECONDS)  # which it is once the process is gone
        for descriptor in (self._pidfd, self._noticed, self._schedstat):
            if descriptor is not None:
                os.close(descriptor)
        self.wire.close()

    def notices(self) -> tuple[bytes, bool]:
        """Its first notices, and whether it lives on with that pipe closed."""
        noticed = b""
        with contextlib.suppress(BlockingIOError):  # no more for now
            noticed = os.read(self._noticed, _MAX_NOTICES)
            if not os.read(self._noticed, 1):
                return noticed, not is_readable(self._pidfd, _END_SECONDS)
        return noticed, False

    def was_killed(self) -> bool:
        """Whether SIGKILL ended it, and not from here: the system needed its memory, or it killed itself."""
        if not is_readable(self._pidfd, _END_SECONDS):
            return False  # it lives, and has only closed its end of the wire
        status = self._status(self.pid)
        return status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

    def cpu_times(self) -> CpuTimes:
        """What the kernel counted of it until now."""
        now = time.monotonic()
        if self._schedstat is None:
            return CpuTimes(now, waited=now, computed=0.0)
        try:
            waited = int(os.pread(self._schedstat, 100, 0).split()[1])
            computed = time.clock_gettime(~self.pid << 3 | _ALL_THREADS)
        except OSError:  # it has ended by itself
            return CpuTimes(now, waited=0.0, computed=0.0)
        return CpuTimes(now, waited=waited / 1e9, computed=computed)


def killed_for_memory() -> int:
    """How many processes the kernel has killed for want of memory so far; 0 where it does not say."""
    try:
        counted = Path("/proc/vmstat").read_text(encoding="ascii").split()
        return int(counted[counted.index("oom_kill") + 1])
    except (OSError, ValueError):
        return 0


def is_readable(descriptor: int, seconds: float) -> bool:
    """Wait until there is something to read, by poll: select knows 1,024 descriptors only."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _opened(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # it has ended already
        return None
