"""The zygote, which imports torch once, tests the sandbox on itself, and forks workers.

No student's code ever runs in this process.
"""

from __future__ import annotations

import array
import contextlib
import copy
import ctypes
import gc
import importlib
import json
import logging
import os
import signal
import socket
import sys
import warnings
from collections.abc import Iterable
from typing import Any

_HEADROOM = 512 << 20  # bytes a worker may have beyond what the zygote has
_HUGE_PAGE = 2 << 20
#: Workers by process number, each with its wait status once it has ended. Their parent reaps them, so that
#: their processor time is counted with its own.
_Statuses = dict[int, int | None]
_MANY_WORKERS = 16  # from then on huge pages save more than it takes to make them, up to half a second


def main() -> None:
    """Run the zygote; ``argv`` holds the control socket's descriptor, and stdin the settings as JSON."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the outside, which then closes the socket
    control = socket.socket(fileno=int(sys.argv[1]))
    gc.disable()  # nothing that is imported is garbage, and to look for it takes a quarter of the time
    warnings.simplefilter("ignore")
    hello: dict[str, Any] = {"unprotected": None, "protection": "none", "layers": {}, "findings": {}}
    _import_torch()
    run = _prepare(json.loads(sys.stdin.buffer.read()), hello)
    control.send(json.dumps(hello).encode())
    if hello["unprotected"] is None:
        _serve(control, run)
    os._exit(0)  # to take torch apart takes a quarter of a second


def _prepare(settings: dict[str, Any], hello: dict[str, Any]) -> Any:
    """Import, warm up, build the sandbox, attack it; returns what a forked child runs.

    Where students' code cannot be confined, ``hello["unprotected"]`` says why.
    """
    hello["torch"] = _warmed_up(settings["preload"])
    # After the warm-up: they capture torch as it is from now on. And both: `service` lists what is imported.
    from . import preflight, service

    gc.freeze()  # from now on collecting is on, as in every worker; what is imported need not be looked at
    service.prepare()
    sandbox = _tested_sandbox(settings, hello, preflight.preflight)
    if sandbox is None:
        return None
    locks = getattr(logging, "_at_fork_reinit_lock_weakset", None)
    if locks is not None:
        locks.clear()  # or every worker would give torch's forty loggers new locks; no lock is held here
    gc.freeze()  # keeps the collector's hands off shared pages: 6 MB less a worker
    gc.collect()  # gives back what lies ready for reuse; in a worker that would copy shared pages
    gc.enable()
    return lambda descriptors: service.run(sandbox, *descriptors)


def _tested_sandbox(settings: dict[str, Any], hello: dict[str, Any], preflight: Any) -> Any:
    """The sandbox, once the preflight has attacked it; None if it is unavailable or an attack succeeded."""
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
    hello.update(protection=sandbox.protection, layers=sandbox.describe())
    if not settings["sandbox"]:
        return sandbox
    try:
        findings = preflight(sandbox)
    except PermissionError:
        hello["unprotected"] = "root may not end other users' processes here: grade as an unprivileged user"
        return None
    hello["findings"] = findings._asdict()
    if findings.failures:
        holes = ", ".join(findings.failures)
        hello["unprotected"] = findings.trouble or f"the sandbox does not hold: {holes}"
        return None
    return sandbox


def _serve(control: socket.socket, run: Any) -> None:
    """Fork on demand until the outside closes its end; then kill the workers that still run."""
    statuses: _Statuses = {}
    while True:
        message, ancillary, _, _ = control.recvmsg(1 << 12, socket.CMSG_SPACE(4 * 4))
        _reap(statuses)
        if not message:
            for pid in [pid for pid, status in statuses.items() if status is None]:
                os.kill(pid, signal.SIGKILL)
            _reap(statuses, options=0)
            return
        request = json.loads(message)
        if request["op"] == "status":
            control.send(json.dumps({"status": statuses.get(request["pid"])}).encode())
        else:
            if len(statuses) == _MANY_WORKERS:
                _use_huge_pages()
            _fork(control, run, ancillary, statuses)


def _reap(statuses: _Statuses, options: int = os.WNOHANG) -> None:
    """Note which workers have ended; without options, wait for all."""
    with contextlib.suppress(ChildProcessError):  # there are none
        while (ended := os.waitpid(-1, options))[0]:
            statuses[ended[0]] = ended[1]


def _fork(control: socket.socket, run: Any, ancillary: Any, statuses: _Statuses) -> None:
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
        statuses[pid] = None
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


# Imports and work that are done once here, so that no worker does them for the first time.

#: Modules that notebooks import sooner or later, because torch imports them lazily.
_LAZY = (
    "torch._subclasses.schema_check_mode",  # the first tensor that is printed
    *("torch.autograd.gradcheck", "torch.func", "torch.nn.utils.parametrizations", "torch.optim"),
    *("torch.testing", "torch.utils.checkpoint", "torch.utils.data"),
    *("asyncio", "collections", "copy", "dataclasses", "functools", "itertools", "math", "numpy.testing"),
    *("random", "statistics", "textwrap", "time", "typing"),
)
#: The same, for workers that can open no file later; too slow to be imported where they can.
_LAZY_WHERE_SEALED = (
    *("torch._dynamo", "torch.fx.experimental.symbolic_shapes"),
    "torch._decomp.decompositions_for_jvp",  # forward-mode differentiation
    *("torch.utils.benchmark", "numpy.polynomial", "doctest", "tracemalloc"),
)


def _import_torch() -> None:
    """Import what all workers share, while the outside finds out with what settings."""
    import torch

    from . import access

    torch.set_num_threads(1)
    _import(_LAZY if access.landlock_version() else (*_LAZY_WHERE_SEALED, *_LAZY))


def _import(names: Iterable[str]) -> None:
    for name in names:
        with contextlib.suppress(Exception):  # a missing package raises an error in the cell that needs it
            importlib.import_module(name)


def _warmed_up(preload: list[str]) -> str:
    """Import what notebooks of this class need besides, and warm torch up; returns its version."""
    import torch

    from grader.runtime import lazy_imports

    _import(preload)
    lazy_imports.install()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/"  # a folder that is there: torch.compile may not make its own
    _warm_up(torch)
    return torch.__version__.partition("+")[0]


def _warm_up(torch: Any) -> None:
    """Run typical operations of notebooks once.

    Torch reads lazily what it could not read in the sandbox (``/proc/cpuinfo``, kernels), and makes tables
    which every worker would have to copy. Nothing parallel and no backward: after one, a child that nests
    backwards 60 deep crashes.
    """
    nn = torch.nn
    for _ in range(2):
        cell, readout = nn.RNNCell(2, 3), nn.Linear(3, 1)
        optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], 0.1, momentum=0.9)
        nn.functional.mse_loss(readout(cell(torch.randn(4, 2))), torch.zeros(4, 1))
        for parameter in cell.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        optimizer.zero_grad()

        nn.LSTM(2, 3)(torch.ones(1, 1, 2))  # the first one takes 40 ms
        leaf = torch.ones(3, requires_grad=True)
        product = leaf * torch.randn(3, generator=torch.Generator().manual_seed(1))
        product.register_hook(lambda gradient: gradient).remove()
        product.retain_grad()
        for tensor in (leaf, product, product.sum(), product.detach().double().clone()):
            str(tensor)
        torch.equal(leaf, leaf), torch.allclose(leaf, leaf)
        torch.manual_seed(0)
        with torch.no_grad():
            leaf.add_(0)

        model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
        handle = model[0].register_forward_hook(lambda *_: None)
        model(torch.ones(1, 2))
        handle.remove()
        model.load_state_dict(copy.deepcopy(model).state_dict())
        str(model), dict(model.named_parameters()), dict(model.named_modules())
    for kind in vars(torch.optim).values():  # torch wraps the `step` of a class when the first of it is made
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer):
            with contextlib.suppress(Exception):  # some want more than parameters
                kind([nn.Parameter(torch.zeros(1))], lr=0.1)
