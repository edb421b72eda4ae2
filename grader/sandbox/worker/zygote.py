"""The zygote, which imports torch once, tests the cage on itself, and forks workers.

No student's code ever runs in this process.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import json
import os
import signal
import socket
import sys
import warnings
from typing import Any

from . import warm_up

_HEADROOM = 512 << 20  # bytes a worker may have beyond what the zygote has
_HUGE_PAGE = 2 << 20
_MANY_WORKERS = 16  # from then on huge pages save more than it takes to make them, up to half a second


def main() -> None:
    """Run the zygote; ``argv`` holds the control socket's descriptor, and stdin the settings as JSON."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the outside, which then closes the socket
    control = socket.socket(fileno=int(sys.argv[1]))
    settings = json.loads(sys.stdin.buffer.read())
    gc.disable()  # nothing that is imported is garbage, and to look for it takes a quarter of the time
    sys.path.pop(0)  # the folder this was started from; nothing else of the package may be imported
    warnings.simplefilter("ignore")
    hello: dict[str, Any] = {"unprotected": None, "protection": "none", "cage": {}, "findings": {}}
    run = _prepare(settings, hello)
    control.send(json.dumps(hello).encode())
    if hello["unprotected"] is None:
        _serve(control, run)
    os._exit(0)  # to take torch apart takes a quarter of a second


def _prepare(settings: dict[str, Any], hello: dict[str, Any]) -> Any:
    """Import, warm up, build the cage, attack it; returns what a forked child runs.

    Where students' code cannot be confined, ``hello["unprotected"]`` says why.
    """
    hello["torch"] = warm_up.import_all(settings["preload"])
    # After the warm-up: they capture torch as it is from now on. And both: `service` lists what is imported.
    from . import preflight, service

    gc.freeze()  # from now on collecting is on, as in every worker; what is imported need not be looked at
    service.prepare(settings["handed_out"], settings["stubs"])
    sandbox = _tested_sandbox(settings, hello, preflight.preflight)
    if sandbox is None:
        return None
    warm_up.forget_locks_of_logs()
    gc.freeze()  # keeps the collector's hands off shared pages: 6 MB less a worker
    gc.collect()  # gives back what lies ready for reuse; in a worker that would copy shared pages
    gc.enable()
    return lambda descriptors: service.run(sandbox, *descriptors)


def _tested_sandbox(settings: dict[str, Any], hello: dict[str, Any], preflight: Any) -> Any:
    """The sandbox, once the preflight has attacked it; None where it is not to be had or does not hold."""
    from .access import readable_paths
    from .confinement import Sandbox, SandboxError

    try:
        sandbox = Sandbox.prepare(
            readable=readable_paths(),
            cpu_seconds=settings["cpu_seconds"],
            memory_bytes=_virtual_memory() + _HEADROOM,
            sandbox=settings["sandbox"],
        )
    except SandboxError as error:
        hello["unprotected"] = str(error)
        return None
    hello.update(protection=sandbox.protection, cage=sandbox.describe())
    if not settings["sandbox"]:
        return sandbox
    try:
        findings = preflight(sandbox)
    except PermissionError:
        hello["unprotected"] = "this root may not end the processes of others: grade as an ordinary user"
        return None
    hello["findings"] = findings._asdict()
    if findings.failures:
        holes = ", ".join(findings.failures)
        hello["unprotected"] = findings.trouble or f"the cage does not hold: {holes}"
        return None
    return sandbox


def _serve(control: socket.socket, run: Any) -> None:
    """Fork on demand until the outside closes its end."""
    workers = _Workers()
    while True:
        message, ancillary, _, _ = control.recvmsg(1 << 12, socket.CMSG_SPACE(4 * 4))
        if not message:
            workers.end()
            return
        workers.reap()
        request = json.loads(message)
        if request["op"] == "status":
            control.send(json.dumps({"status": workers.statuses.get(request["pid"])}).encode())
        else:
            if len(workers.statuses) == _MANY_WORKERS:
                _use_huge_pages()
            _fork(control, run, ancillary, workers)


class _Workers:
    """The workers by process number, with their wait status once they have ended.

    Their parent reaps them, so that their processor time is counted with its own.
    """

    def __init__(self) -> None:
        self.statuses: dict[int, int | None] = {}

    def reap(self, options: int = os.WNOHANG) -> None:
        """Note which workers have ended; without options, wait for all."""
        with contextlib.suppress(ChildProcessError):  # there are none
            while (ended := os.waitpid(-1, options))[0]:
                self.statuses[ended[0]] = ended[1]

    def end(self) -> None:
        """Kill the workers that still run, and wait for their end."""
        for pid in [pid for pid, status in self.statuses.items() if status is None]:
            os.kill(pid, signal.SIGKILL)
        self.reap(0)


def _fork(control: socket.socket, run: Any, ancillary: Any, workers: _Workers) -> None:
    """Fork a worker with the descriptors that came along, and send its pidfd back."""
    descriptors = array.array("i")
    for _, _, data in ancillary:
        descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    try:
        pid = os.fork()
    except OSError as error:
        control.send(json.dumps({"error": str(error)}).encode())
    else:
        if pid == 0:
            control.close()
            try:
                run(descriptors)
            finally:
                os._exit(0)  # the child never returns into the zygote's loop
        workers.statuses[pid] = None
        pidfd = os.pidfd_open(pid)
        socket.send_fds(control, [json.dumps({"pid": pid}).encode()], [pidfd])
        os.close(pidfd)
    for descriptor in descriptors:
        os.close(descriptor)


def _virtual_memory() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _use_huge_pages() -> None:
    """Put anonymous memory on huge pages, which halves the cost of fork and exit (Linux 6.1 and later)."""
    advise_huge, collapse = 14, 25
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file]
    for address, permissions, *_, name in ([*line, ""] if len(line) == 5 else line for line in lines):
        if permissions != "rw-p" or name not in ("", "[heap]"):
            continue
        start, end = (int(bound, 16) for bound in address.split("-"))
        start, end = -(-start // _HUGE_PAGE) * _HUGE_PAGE, end // _HUGE_PAGE * _HUGE_PAGE
        if end > start:
            libc.madvise(start, end - start, advise_huge)
            for page in range(start, end, _HUGE_PAGE):
                libc.madvise(page, _HUGE_PAGE, collapse)
