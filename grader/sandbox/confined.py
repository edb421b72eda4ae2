"""Outside: a worker, the confined process with one notebook in it, as it is held from here."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Self

from grader.sandbox.clock import Clock, ProcessClock
from grader.sandbox.wire import Wire

_DEATH_SECONDS = 30.0  # from the signal that kills to the end, on a machine that is full
_END_SECONDS = 1.0  # from the end of a process's descriptors to its own
_MOST_NOTICES = 1 << 14  # bytes


class Worker:
    """A confined process with one notebook's names in it; killed, by pidfd, when the block ends.

    Args:
        wire: for requests and answers.
        noticed: the pipe of what it notices.
        pidfd: what it is killed by.
        pid: its number.
        status: tells the wait status of a process that has ended.
    """

    def __init__(
        self, wire: Wire, noticed: int, pidfd: int, pid: int, status: Callable[[int], int | None]
    ) -> None:
        self.wire = wire
        self._noticed = noticed
        os.set_blocking(noticed, False)
        self._pidfd, self.pid, self._status = pidfd, pid, status
        self._clock = ProcessClock(pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        except ProcessLookupError:
            pass
        else:
            is_readable(self._pidfd, _DEATH_SECONDS)  # which it is once the process is gone
        os.close(self._pidfd)
        os.close(self._noticed)
        self._clock.close()
        self.wire.close()

    def notices(self) -> tuple[bytes, bool]:
        """What it noticed, and whether it lives on without that pipe; the end of a flood is left out."""
        noticed = b""
        with contextlib.suppress(BlockingIOError):  # no more for now
            noticed = os.read(self._noticed, _MOST_NOTICES)
            if not os.read(self._noticed, 1):
                return noticed, not is_readable(self._pidfd, _END_SECONDS)
        return noticed, False

    def was_killed(self) -> bool:
        """Whether SIGKILL has ended it, and not from here: the system needed its memory, or it hit itself.

        Raises:
            BrokenRunError: nobody can say, because the zygote has ended too.
        """
        if not is_readable(self._pidfd, _END_SECONDS):
            return False  # it lives, and has only closed its end of the wire
        status = self._status(self.pid)
        return status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

    def clock(self) -> Clock:
        """How the worker has spent its life up to now."""
        return self._clock.read()


def killed_for_memory() -> int:
    """How many processes the kernel has killed for want of memory so far; 0 where it does not say."""
    try:
        counted = Path("/proc/vmstat").read_text(encoding="ascii").split()
        return int(counted[counted.index("oom_kill") + 1])
    except (OSError, ValueError):
        return 0


def is_readable(descriptor: int, seconds: float) -> bool:
    """Wait until there is something to read; by poll, because select knows 1,024 descriptors only."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))
