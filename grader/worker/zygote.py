"""Inside: the zygote, which imports torch once, tests the cage on itself, and forks workers.

No student's code ever runs in this process.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
import warnings
from typing import Any

#: What notebooks import sooner or later because torch itself does it lazily.
_LAZY = (
    "torch._dynamo",  # the first optimizer asks for it
    "torch._subclasses.schema_check_mode",  # the first tensor that is printed
    "torch.autograd.gradcheck",
    "torch.func",
    "torch.nn.utils.parametrizations",
    "torch.optim",
    "torch.testing",
    "torch.utils.checkpoint",
    "torch.utils.data",
    "asyncio",
    "collections",
    "copy",
    "dataclasses",
    "functools",
    "itertools",
    "math",
    "numpy.testing",
    "random",
    "statistics",
    "textwrap",
    "time",
    "typing",
)
#: The same, for workers that can open no file later; too slow to be imported where they can.
_LAZY_WHERE_SEALED = (
    "torch._decomp.decompositions_for_jvp",  # forward-mode differentiation
    "torch.utils.benchmark",
    "numpy.polynomial",
    "doctest",
    "tracemalloc",
)
_HEADROOM = 512 << 20  # bytes a worker may have beyond what the zygote has
_HUGE_PAGE = 2 << 20


def main() -> None:
    """Run the zygote; ``argv`` holds the control socket's descriptor and the settings as JSON."""
    control = socket.socket(fileno=int(sys.argv[1]))
    settings = json.loads(sys.argv[2])
    sys.path.pop(0)  # the folder this was started from; nothing else of the package may be imported
    warnings.simplefilter("ignore")
    hello: dict[str, Any] = {"unprotected": None, "protection": "none", "torch": "", "cage": {}, "found": {}}
    run = _prepare(settings, hello)
    control.send(json.dumps(hello).encode())
    if hello["unprotected"] is None:
        _serve(control, run)


def _prepare(settings: dict[str, Any], hello: dict[str, Any]) -> Any:
    """Import, warm up, build the cage, attack it; returns what a forked child runs.

    Where students' code cannot be confined, ``hello["unprotected"]`` says why.
    """
    import torch

    from . import landlock

    torch.set_num_threads(1)
    lazy = _LAZY if landlock.abi() else (*_LAZY, *_LAZY_WHERE_SEALED)
    for name in (*lazy, *settings["preload"]):
        with contextlib.suppress(
            Exception
        ):  # a package that is not installed fails in the cell that needs it
            importlib.import_module(name)
    _warm_up(torch)
    from . import child  # after the warm-up: it captures torch as it is from now on
    from .cage import Cage, CageError, readable_paths
    from .preflight import preflight

    child.prepare()
    hello["torch"] = torch.__version__.partition("+")[0]
    try:
        cage = Cage.prepare(
            readable=readable_paths(),
            cpu_seconds=settings["cpu_seconds"],
            memory_bytes=_virtual_memory() + _HEADROOM,
            sandbox=settings["sandbox"],
        )
    except CageError as error:
        hello["unprotected"] = str(error)
        return None
    hello.update(protection=cage.protection, cage=cage.describe())
    if settings["sandbox"]:
        findings = preflight(cage)
        hello["found"] = findings._asdict()
        if findings.failures:
            hello["unprotected"] = (
                findings.trouble or f"the cage does not hold: {', '.join(findings.failures)}"
            )
    gc.collect()
    gc.freeze()  # keeps the collector's hands off shared pages: 6 MB less a worker
    _use_huge_pages()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps workers; the outside watches pidfds
    return lambda descriptors: child.run(cage, *descriptors)


def _serve(control: socket.socket, run: Any) -> None:
    """Fork on demand until the outside closes its end."""
    while True:
        message, ancillary, _, _ = control.recvmsg(1 << 12, socket.CMSG_SPACE(4 * 4))
        descriptors = array.array("i")
        for _, _, data in ancillary:
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
        if not message:
            return
        try:
            pid = os.fork()
        except OSError as error:
            control.send(json.dumps({"error": str(error)}).encode())
            continue
        if pid == 0:
            control.close()
            _run_and_leave(run, descriptors)
        pidfd = os.pidfd_open(pid)
        socket.send_fds(control, [json.dumps({"pid": pid}).encode()], [pidfd])
        for descriptor in (pidfd, *descriptors):
            os.close(descriptor)


def _run_and_leave(run: Any, descriptors: Any) -> None:
    """The child's whole life; it never returns into the zygote's loop."""
    try:
        run(descriptors)
    finally:
        os._exit(0)


def _warm_up(torch: Any) -> None:
    """Let torch read what it reads lazily (``/proc/cpuinfo``, kernels) before there is a cage.

    Nothing parallel and no backward: after one, a child that nests backwards 60 deep crashes.
    """
    for _ in range(2):
        cell, readout = torch.nn.RNNCell(2, 3), torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], 0.1, momentum=0.9)
        torch.nn.functional.mse_loss(readout(cell(torch.randn(4, 2))), torch.zeros(4, 1))
        for parameter in cell.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        optimizer.zero_grad()


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
