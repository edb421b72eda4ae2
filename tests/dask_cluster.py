"""A Dask scheduler and its workers, as processes of this machine."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

# On a busy machine; a worker that is to end waits up to 30 s of its own for the task it is at.
_START_SECONDS = 120
_END_SECONDS = 120


class DaskCluster:
    """A scheduler, and workers that come and go; all of them end when the block does.

    Args:
        folder: where they run and write; no part of a course.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: list[subprocess.Popen] = []
        file = folder / "scheduler.json"
        arguments = ["--port", "0", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(file)]
        self.scheduler = self._start("scheduler", *arguments)
        self.address = _await(lambda: _address(file), self.scheduler)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self._running):
            self.stop(process)

    def worker(self, name, *, threads=1, preload=None, nanny=False):
        """Start a worker and wait until it is connected; `preload` is code that it runs before."""
        arguments = ["--name", name, "--nthreads", str(threads), "--no-dashboard"]
        arguments.append("--nanny" if nanny else "--no-nanny")
        if preload:
            path = self.folder / f"{name}.py"
            path.write_text(preload, encoding="utf-8")
            arguments += ["--preload", str(path)]
        process = self._start("worker", self.address, *arguments, log=name)
        log = self.folder / f"{name}.log"
        process.address = _await(lambda: _between(log, "Registered to:", "Start worker at:"), process)
        return process

    def stop(self, process, number=signal.SIGTERM):
        """End one of them, and wait until all it started has ended too."""
        if process not in self._running:
            return
        self._running.remove(process)
        children = [os.pidfd_open(pid) for pid in children_of(process.pid)]
        process.send_signal(number)
        try:
            process.wait(_END_SECONDS)
        finally:
            process.kill()
            process.wait()
        for child in children:
            _await_end(child)

    def _start(self, kind, *arguments, log=None):
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--host", "127.0.0.1", *arguments]
        folder = self.folder / (log or kind)
        folder.mkdir(exist_ok=True)
        with (self.folder / f"{log or kind}.log").open("wb") as file:
            process = subprocess.Popen(command, cwd=folder, stdout=file, stderr=file)
        self._running.append(process)
        return process


def children_of(pid):
    """The processes that a process started, zygotes among them."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text(encoding="ascii").split()]


def _await(found, process):
    """What there is to be found, once the process has got so far."""
    deadline = time.monotonic() + _START_SECONDS
    while True:
        if (value := found()) is not None:
            return value
        assert process.poll() is None, f"{process.args} ended"
        assert time.monotonic() < deadline, f"{process.args} did not start"
        time.sleep(0.05)


def _address(file):
    try:
        return json.loads(file.read_text(encoding="utf-8"))["address"]
    except (OSError, ValueError):
        return None


def _between(log, condition, key):
    text = log.read_text(encoding="utf-8")
    if condition not in text:
        return None
    return next(line.split()[-1] for line in text.splitlines() if key in line)


def _await_end(pidfd):
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    assert poll.poll(_END_SECONDS * 1000), "a process outlived the one that started it"
    os.close(pidfd)
