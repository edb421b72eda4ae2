"""Starts the zygote, which imports torch once and forks workers; it runs no student's code.

Workers confine themselves before they read their first request. The protocol stands in
``grader/sandbox/worker/__init__.py``.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from grader.errors import BrokenRunError, ProtectionError
from grader.sandbox.wire import Wire
from grader.sandbox.worker_process import WorkerProcess, is_readable

_PACKAGE = Path(__file__).parent
_START_SECONDS = 180.0
_FORK_SECONDS = 30.0
_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # seconds between attempts to fork on a machine that is full
_ZYGOTE_GONE = (
    "the process that starts workers has ended; perhaps the system killed it for its memory. The same "
    "command goes on where this one stopped"
)
_BOOT = f"import sys; sys.path.insert(0, {str(_PACKAGE)!r}); from worker.zygote import main; main()"


@dataclass(frozen=True)
class Protection:
    """What confines the workers, as tried by the zygote on itself before any student's code.

    Attributes:
        name: ``landlock+seccomp``, ``sealed seccomp`` or ``none``.
        torch: version of torch inside.
        hello: the zygote's first message: also ``cage``, the layers and limits, and ``findings``, the outcome
            of every attack of the preflight.
    """

    name: str
    torch: str
    hello: dict[str, Any] = field(default_factory=dict, repr=False)


class Zygote:
    """The zygote process; usable from several threads.

    Args:
        preload: modules to import before the first fork, besides those every worker has.
        sandbox: False forgoes all protection, and every result says so.
        cpu_seconds: CPU time after which the kernel ends a worker.
        handed_out, stubs: cells and stubs that students got, compiled there once instead of in every worker.
            A worker can read them, so nothing else of the course may be among them.

    Raises:
        ProtectionError: the cage cannot be had, or an attack of the preflight got through.
        BrokenRunError: the zygote could not be started.
    """

    def __init__(
        self,
        *,
        preload: Collection[str] = (),
        sandbox: bool = True,
        cpu_seconds: int = 600,
        handed_out: Collection[str] = (),
        stubs: Collection[str] = (),
    ) -> None:
        _require_linux()
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        settings = {
            "preload": sorted(preload),
            "sandbox": sandbox,
            "cpu_seconds": cpu_seconds,
            "handed_out": list(handed_out),
            "stubs": list(stubs),
        }
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own text
                [sys.executable, "-I", "-B", "-c", _BOOT, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=_environment(),
                cwd="/",
            )
        pipe, self._process.stdin = self._process.stdin, None  # or communicate() would flush it once more
        assert pipe is not None
        with contextlib.suppress(BrokenPipeError), pipe:  # the process has ended: `_hello` reports its output
            pipe.write(json.dumps(settings).encode())
        self.protection = self._hello()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the zygote by closing its socket, and its workers with it."""
        with self._lock:  # so that no thread is just using it
            self._socket.close()
        if self._process.stderr:
            self._process.stderr.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def worker(self) -> WorkerProcess:
        """Fork a worker; BrokenRunError where the zygote is gone, or the machine stays too full."""
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

    def _hello(self) -> Protection:
        """The zygote's first message: its protection, or why there is none."""
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
            raise ProtectionError(
                f"students' code cannot be confined here: {hello['unprotected']}. Grade on Linux with "
                "seccomp, or, for code you trust, add --no-sandbox (every result will say so)",
                hello,
            )
        return Protection(hello["protection"], hello["torch"], hello)

    def _reply(self, seconds: float) -> tuple[dict[str, Any], list[int]]:
        if not is_readable(self._socket.fileno(), seconds):
            self._process.kill()  # a reply that came later would be taken for the next request's
            raise ZygoteGoneError(
                f"the process that starts workers did not answer within {seconds:g} s. The same command goes "
                "on where this one stopped"
            )
        message, descriptors, _, _ = socket.recv_fds(self._socket, 1 << 16, 4)
        if not message:
            raise ZygoteGoneError(_ZYGOTE_GONE)
        return json.loads(message), list(descriptors)


def _require_linux() -> None:
    """Only Linux has what forks, hands over and kills workers, with and without a sandbox."""
    if sys.platform != "linux":
        system = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform)
        raise ProtectionError(
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
