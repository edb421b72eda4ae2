"""Outside: control groups of Linux, in which the kernel counts what a command and its descendants spend."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

GROUPS = (Path("/sys/fs/cgroup/cpuacct"), Path("/sys/fs/cgroup"))
_ENTER = 'echo $$ > "$0" && exec "$@"'  # a shell enters the group, then becomes the command
_POLL_SECONDS = 0.02


class Group:
    """A control group of Linux: the kernel counts the processor time of everything that ever ran in it.

    Where none can be made, which needs root, nothing is counted; see ``is_real``.
    """

    def __init__(self) -> None:
        self._path: Path | None = None

    def __enter__(self) -> Self:
        for parent in GROUPS:
            path = parent / f"benchmark-{os.getpid()}-{id(self):x}"
            counter = "cpuacct.usage" if parent.name == "cpuacct" else "cpu.stat"
            with contextlib.suppress(OSError):
                path.mkdir()
                if (path / counter).exists():
                    self._path, self._counter = path, path / counter
                    return self
                path.rmdir()
        return self

    def __exit__(self, *_: object) -> None:
        if self._path:
            self.wait_until_empty()
            with contextlib.suppress(OSError):
                self._path.rmdir()

    @property
    def is_real(self) -> bool:
        return self._path is not None

    def wrapped(self, command: Sequence[str]) -> list[str]:
        """The command, as one that enters the group first."""
        return (
            ["/bin/sh", "-c", _ENTER, str(self._path / "cgroup.procs"), *command]
            if self._path
            else [*command]
        )

    def add(self, pid: int) -> None:
        """Count a process that runs, and what it will start, from now on."""
        if self._path:
            (self._path / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def seconds(self) -> float:
        """Processor time up to now."""
        counted = self._counter.read_text(encoding="ascii")
        if self._counter.name == "cpuacct.usage":
            return int(counted) / 1e9
        return int(counted.partition("usage_usec ")[2].split()[0]) / 1e6

    def wait_until_empty(self, seconds: float = 5.0) -> None:
        """Processes that nobody waits for take a moment to end."""
        end = time.monotonic() + seconds
        while self._path and time.monotonic() < end:
            if not (self._path / "cgroup.procs").read_text(encoding="ascii").strip():
                return
            time.sleep(_POLL_SECONDS)
