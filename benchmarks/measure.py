"""What a command costs: wall time, processor time of all its descendants, its own peak of memory."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
_LONGEST_SECONDS = 3_600.0
_POLL_SECONDS = 0.02


class MeasureError(Exception):
    """A command failed, so that there is nothing to measure."""


@dataclass(frozen=True)
class Cost:
    """What a command cost."""

    wall: float  # seconds until it had ended
    processor: float  # seconds of processor time of the command and of what it started and waited for
    peak: int  # bytes of memory, of the command's own process alone


def run(command: Sequence[str], *, folder: Path = ROOT, environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command and measure it; what it prints is thrown away.

    The package is taken from the tree that this file lies in, wherever another may be installed.

    Raises:
        MeasureError: it failed, or took longer than allowed; with the end of what it said.
    """
    with tempfile.TemporaryFile() as told:
        begun = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 - commands of ours
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=told,
            start_new_session=True,
        )
        try:
            peak = _watch(process.pid, begun + _LONGEST_SECONDS)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        wall = time.perf_counter() - begun
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise MeasureError(f"{' '.join(command)}: exit status {process.returncode}\n{_end_of(told)}")
        return Cost(wall, usage.ru_utime + usage.ru_stime, peak)


def _watch(pid: int, end: float) -> int:
    """Wait for the end of a process; returns its peak of memory, which the kernel forgets then."""
    peak, pidfd = 0, os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        while not poll.poll(_POLL_SECONDS * 1000):
            peak = peak_memory(pid) or peak
            if time.perf_counter() > end:
                raise MeasureError("a command took longer than allowed and was stopped")
    finally:
        os.close(pidfd)
    return peak


def peak_memory(pid: int) -> int:
    """The most memory that a process has had at a time, in bytes; 0 when it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    peak = re.search(r"VmHWM:\s*(\d+)", status)
    return int(peak[1]) << 10 if peak else 0


def counted(pid: int) -> float:
    """Processor seconds of a process, and of those that it has started and waited for, to a hundredth."""
    return sum(map(int, _status(pid)[11:15])) / os.sysconf("SC_CLK_TCK")


def parent(pid: int) -> int:
    """The process that started another."""
    return int(_status(pid)[1])


def _status(pid: int) -> list[str]:
    """What stands behind the name in ``/proc/PID/stat``, see proc_pid_stat(5)."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def _end_of(told: IO[bytes]) -> str:
    told.seek(0)
    return "\n".join(told.read().decode(errors="replace").strip().splitlines()[-15:])
