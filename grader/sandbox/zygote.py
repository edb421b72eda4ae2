"""Starts the zygote, which imports torch once and forks workers; it runs no student's code.

A ``WorkerProcess`` is a worker from outside: its pipes, its notices, its end, its processor time. Workers
confine themselves before they read their first request; the protocol stands in
``grader/sandbox/worker/__init__.py``.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from grader.errors import BrokenRunError, SandboxError
from grader.sandbox.wire import Wire

_PACKAGES = {"grader": str(Path(__file__).parents[1]), "grader.sandbox": str(Path(__file__).parent)}
_START_SECONDS = 180.0
_FORK_SECONDS = 30.0
_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # seconds between attempts to fork on a machine that is full
_ZYGOTE_GONE = (
    "the process that starts workers has ended; perhaps the system killed it for its memory. The same "
    "command continues where this one stopped"
)
#: Lets a process import `grader.runtime` and `grader.sandbox.worker`, and runs nothing else of the package.
PACKAGES_WITHOUT_INIT = f"""
import sys, types
for name, folder in {_PACKAGES!r}.items():
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
"""
BOOT = f"{PACKAGES_WITHOUT_INIT}from grader.sandbox.worker import zygote\nzygote.main()\n"


@dataclass(frozen=True)
class ActiveSandbox:
    """The sandbox of the workers, which the zygote tested on itself before any student's code ran.

    Attributes:
        name: ``landlock+seccomp``, ``sealed seccomp`` or ``none``.
        torch: version of torch inside.
        hello: the zygote's first message: also ``layers``, with the limits, and ``findings``, the outcome of
            every attack of the preflight.
    """

    name: str
    torch: str
    hello: dict[str, Any] = field(default_factory=dict, repr=False)


class ZygoteProcess:
    """A process that imports torch, which takes a second or two, and then waits for a zygote's settings.

    Raises:
        SandboxError: this is not Linux.
    """

    def __init__(self) -> None:
        _require_linux()
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own text
                # As -I is, but for the variables of `_environment`.
                [sys.executable, "-s", "-P", "-B", "-c", BOOT, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=_environment(),
                cwd="/",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()  # if it still imports, or waits: a zygote has closed it before
        self.close()

    def close(self) -> None:
        """End it by closing its socket, and its workers with it."""
        self.socket.close()
        for pipe in (self.process.stdin, self.process.stderr):
            if pipe:
                pipe.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Zygote:
    """The zygote; usable from several threads.

    Args:
        preload: modules to import before the first fork, besides those every worker has.
        sandbox: False runs student code without a sandbox, and every result says so.
        cpu_seconds: CPU time after which the kernel ends a worker.
        started: its process, where that was started before.

    Raises:
        SandboxError: the sandbox cannot be had, or an attack of the preflight got through.
        BrokenRunError: the zygote could not be started.
    """

    def __init__(
        self,
        *,
        preload: Collection[str] = (),
        sandbox: bool = True,
        cpu_seconds: int = 600,
        started: ZygoteProcess | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._started = started or ZygoteProcess()
        self._socket, self._process = self._started.socket, self._started.process
        settings = {"preload": sorted(preload), "sandbox": sandbox, "cpu_seconds": cpu_seconds}
        pipe, self._process.stdin = self._process.stdin, None  # or communicate() would flush it once more
        assert pipe is not None
        with contextlib.suppress(BrokenPipeError), pipe:  # it has ended: `_hello` reports its output
            pipe.write(json.dumps(settings).encode())
        self.sandbox = self._hello()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the zygote by closing its socket, and its workers with it."""
        with self._lock:  # so that no thread is just using it
            self._started.close()

    def worker(self) -> WorkerProcess:
        """Fork a worker; BrokenRunError if the zygote is gone, or the machine stays too full."""
        reason = ""
        for pause in (0.0, *_PAUSES):
            time.sleep(pause)
            try:
                return self._fork()
            except _FullError as error:
                reason = str(error)
        raise BrokenRunError(
            f"no worker could be forked ({reason}): free some memory or processes and run again"
        )

    def _fork(self) -> WorkerProcess:
        request, to_worker = os.pipe()
        from_worker, answer = os.pipe()
        printed, output = os.pipe()
        noticed, notices = os.pipe()
        theirs = [request, answer, output, notices]
        try:
            reply, descriptors = self._ask({"op": "fork"}, theirs)
        except BaseException:
            for descriptor in (to_worker, from_worker, printed, noticed):
                os.close(descriptor)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        wire = Wire(to_worker, from_worker, printed)
        if not descriptors:
            wire.close()
            os.close(noticed)
            raise _FullError(reply.get("error"))
        return WorkerProcess(wire, noticed, descriptors[0], reply["pid"], self._status)

    def _status(self, pid: int) -> int | None:
        status: int | None = self._ask({"op": "status", "pid": pid}, [])[0]["status"]
        return status

    def _ask(self, request: dict[str, Any], descriptors: list[int]) -> tuple[dict[str, Any], list[int]]:
        """A request, with descriptors for the zygote, and its reply, with descriptors from it."""
        try:
            with self._lock:
                socket.send_fds(self._socket, [json.dumps(request).encode()], descriptors)
                return self._reply(_FORK_SECONDS)
        except OSError:
            raise ZygoteGoneError(_ZYGOTE_GONE) from None

    def _hello(self) -> ActiveSandbox:
        """Read the zygote's first message: the sandbox in force, or the reason why there is none."""
        try:
            hello, _ = self._reply(_START_SECONDS)
        except (BrokenRunError, OSError):
            self._socket.close()
            self._process.kill()
            output = self._process.communicate()[1].decode(errors="replace").strip()
            raise BrokenRunError(
                f"the worker process did not start: {output or 'it ended without a word'}"
            ) from None
        if hello["unprotected"] is not None:
            self.close()
            raise SandboxError(
                f"students' code cannot be confined here: {hello['unprotected']}. Grade on Linux with "
                "seccomp, or, for code you trust, add --no-sandbox (every result will say so)",
                hello,
            )
        return ActiveSandbox(hello["protection"], hello["torch"], hello)

    def _reply(self, seconds: float) -> tuple[dict[str, Any], list[int]]:
        if not is_readable(self._socket.fileno(), seconds):
            self._process.kill()  # a reply that came later would be taken for the next request's
            raise ZygoteGoneError(
                f"the process that starts workers did not answer within {seconds:g} s. The same command "
                "continues where this one stopped"
            )
        message, descriptors, _, _ = socket.recv_fds(self._socket, 1 << 16, 4)
        if not message:
            raise ZygoteGoneError(_ZYGOTE_GONE)
        return json.loads(message), list(descriptors)


def _require_linux() -> None:
    """Require Linux, with and without a sandbox, for its system calls to fork, pass and kill workers."""
    if sys.platform != "linux":
        system = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform)
        raise SandboxError(
            f"grading needs Linux, also with --no-sandbox, and this is {system}: use a Linux machine, a "
            "container (Docker's defaults suffice) or, on Windows, WSL 2"
        )


class ZygoteGoneError(BrokenRunError):
    """The zygote has ended; a new zygote could go on."""


class _FullError(Exception):
    """The system had no process left."""


def _environment() -> dict[str, str]:
    """The environment variables of the zygote and its workers; none of the caller's."""
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": "/dev/null",  # below it not even root can make a folder
        "MALLOC_ARENA_MAX": "2",  # every thread would reserve 64 MB of a worker's address space
        "OMP_NUM_THREADS": "1",  # torch starts no thread pool before the fork
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
    }


# A worker.

_DEATH_SECONDS = 30.0  # from the signal that kills to the end, on a machine that is full
_END_SECONDS = 1.0  # from the end of a process's descriptors to its own
_MAX_NOTICES = 1 << 14  # bytes

_STARVED_SHARE = 0.25
_ALL_THREADS = 2  # in a process's clock number, see clock_getcpuclockid(3) and the kernel's posix-timers.h
_COUNTS_WAITING = Path("/proc/self/schedstat").exists()


@dataclass(frozen=True)
class CpuTimes:
    """The kernel's times of a process up to a moment, in seconds.

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
        self._schedstat: int | None = None
        if _COUNTS_WAITING:
            with contextlib.suppress(OSError):  # it has ended already
                self._schedstat = os.open(f"/proc/{pid}/schedstat", os.O_RDONLY | os.O_CLOEXEC)

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
        """The kernel's times of the worker up to now."""
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
    """The number of processes that the kernel has killed for lack of memory; 0 if that is unknown."""
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
