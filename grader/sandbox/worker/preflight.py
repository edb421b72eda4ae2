"""Attacks the sandbox from within, before any student's code enters it."""

import contextlib
import errno
import fcntl
import importlib
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from . import syscalls
from .confinement import Sandbox, SandboxError
from .syscalls import syscall

Attempt = Callable[[], object]

_REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSYS)
_AT_FDCWD = -100
_CLONE_NEWUSER = 0x10000000
_IPPROTO_MPTCP = 262
_PTRACE_PEEKDATA = 2
_SECONDS = 10.0  # after which the child that attacks is killed


class Target(NamedTuple):
    """The targets of an attack: a project's file and folder, names to write to, and the worker's own pipe."""

    folder: Path
    file: Path
    writable: tuple[Path, ...]
    pipe: int


def refused(attempt: Attempt) -> bool:
    """Whether the sandbox stopped an action; one that fails for another reason has passed the sandbox."""
    try:
        attempt()
    except OSError as error:
        return error.errno in _REFUSALS
    return False


def works(control: Attempt) -> bool:
    """Whether an action succeeds that a worker needs."""
    with contextlib.suppress(BaseException):
        control()
        return True
    return False


def attacks(target: Target, *, sealed: bool) -> dict[str, Attempt]:
    """Every attack by its name, for the process that attacks."""
    folder, file, parent = os.fsencode(target.folder), os.fsencode(target.file), os.getppid()
    attempts: dict[str, Attempt] = {
        # on files
        "read a file of the project": lambda: os.open(target.file, os.O_RDONLY),
        "list a folder of the project": lambda: next(target.folder.iterdir()),
        "read the environment": lambda: os.open("/proc/self/environ", os.O_RDONLY),
        "truncate what is open for reading": lambda: os.open(os.devnull, os.O_RDONLY | os.O_TRUNC),
        "change the mode of a file": lambda: syscall("fchmodat", _AT_FDCWD, file, 0o666),
        "make a file in memory": lambda: syscall("memfd_create", b"preflight", 0),
        "mount a file system": lambda: syscall("mount", b"none", folder, b"no such file system", 0, None),
        **{_writing_to(path.parent, target): _creation(path) for path in target.writable},
        "look up a file": target.file.stat,
        # on the network
        "open a TCP socket": _socket(socket.AF_INET, socket.SOCK_STREAM),
        "open an MPTCP socket": _socket(socket.AF_INET, socket.SOCK_STREAM, _IPPROTO_MPTCP),
        "open a UDP socket": _socket(socket.AF_INET, socket.SOCK_DGRAM),
        "open a Unix socket": _socket(socket.AF_UNIX, socket.SOCK_STREAM),
        # on processes
        "fork": lambda: _fork("clone", signal.SIGCHLD, 0, 0, 0, 0),
        "fork by clone3": lambda: syscall("clone3", None, 0),
        "fork by the old call": lambda: _fork("fork"),
        "start a program": lambda: syscall("execve", b"", None, None),
        "trace the parent": lambda: syscall("ptrace", _PTRACE_PEEKDATA, parent, None, None),
        "signal the parent": lambda: syscall("kill", parent, 0),
        "signal the parent through a pipe": lambda: fcntl.fcntl(target.pipe, fcntl.F_SETOWN, parent),
        "leave the session": lambda: syscall("setsid"),
        "leave the process group": lambda: syscall("setpgid", 0, -1),
        # on rights
        "remain root": _remain_root,
        "raise a limit": _raise_a_limit,
        "make a namespace": lambda: syscall("unshare", _CLONE_NEWUSER),
        "load a program into the kernel": lambda: syscall("bpf", 0, None, 0),
        "submit calls past the filter": lambda: syscall("io_uring_setup", 1, None),
    }
    if not sealed:
        del attempts["look up a file"]
    if syscalls.machine() != "x86_64":
        del attempts["fork by the old call"]
    return attempts


def controls(*, sealed: bool) -> dict[str, Attempt]:
    """The actions that must work, by name."""
    always: dict[str, Attempt] = {
        "allocate memory": lambda: bytearray(16 << 20),
        "start a thread": _start_a_thread,
    }
    on_files: dict[str, Attempt] = {
        "import a module": _import_a_module,
        "write to /dev/null": lambda: Path(os.devnull).write_text("nothing", encoding="utf-8"),
    }
    return always if sealed else {**always, **on_files}


def _writing_to(folder: Path, target: Target) -> str:
    return f"write to {'a folder of the project' if folder == target.folder else folder}"


def _creation(path: Path) -> Attempt:
    return lambda: os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)


def _socket(family: int, kind: int, protocol: int = 0) -> Attempt:
    return lambda: syscall("socket", family, kind, protocol)


def _fork(call: str, *arguments: int) -> None:
    if syscall(call, *arguments) == 0:
        os._exit(0)


def _remain_root() -> None:
    if 0 not in {os.getuid(), os.geteuid()}:
        raise PermissionError(errno.EPERM, "this is another user")


def _raise_a_limit() -> None:
    # Up to the hard limit every process may.
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    syscall("prlimit64", 0, resource.RLIMIT_CPU, struct.pack("=qq", hard, hard), None)


def _import_a_module() -> None:
    sys.modules.pop("colorsys", None)
    importlib.import_module("colorsys")


def _start_a_thread() -> None:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


class Findings(NamedTuple):
    """Whether each attack was stopped and each control works, or why none was tried."""

    attacks: dict[str, bool]
    controls: dict[str, bool]
    trouble: str | None = None

    @property
    def failures(self) -> list[str]:
        """The attacks that succeeded, and what is broken or failed; if it is empty, the sandbox holds."""
        names = [name for name, good in {**self.attacks, **self.controls}.items() if not good]
        return [self.trouble, *names] if self.trouble else names


def preflight(sandbox: Sandbox) -> Findings:
    """Fork a child into the sandbox and let it try to break out, for some seconds.

    Call it in the zygote, while that has a single thread.
    """
    reading, writing = os.pipe()
    with _target(writing) as target:
        child = os.fork()
        if child == 0:
            try:
                os.write(writing, json.dumps(_findings(sandbox, target)).encode())
                os._exit(0)
            finally:
                os._exit(1)
        os.close(writing)
        try:
            answer = _read(reading, time.monotonic() + _SECONDS)
        finally:
            os.close(reading)
            os.kill(child, signal.SIGKILL)  # most often it has ended already
            status = os.waitpid(child, 0)[1]
    if answer is None or status != 0:
        return Findings({}, {}, "the preflight did not end by itself")
    return Findings(*json.loads(answer))


@contextlib.contextmanager
def _target(pipe: int) -> Iterator[Target]:
    """Lay out a folder and a file that permission bits open to all: only the sandbox protects them."""
    with tempfile.TemporaryDirectory(prefix="preflight-") as name:
        folder = Path(name)
        file = folder / "answers.py"
        file.write_text("expected = 42\n", encoding="utf-8")
        file.chmod(0o644)
        folder.chmod(0o777)
        folders = dict.fromkeys((folder, Path("/tmp"), Path.cwd()))  # noqa: S108 - where an attacker writes
        writable = tuple(parent / f"{folder.name}.written" for parent in folders)
        try:
            yield Target(folder, file, writable, pipe)
        finally:
            for path in writable:
                with contextlib.suppress(OSError):
                    path.unlink()


def _findings(sandbox: Sandbox, target: Target) -> Findings:
    sealed = sandbox.protection == "sealed seccomp"
    try:
        sandbox.enter({target.pipe})
    except SandboxError as error:
        return Findings({}, {}, str(error))
    stopped = {name: refused(attack) for name, attack in attacks(target, sealed=sealed).items()}
    return Findings(stopped, {name: works(control) for name, control in controls(sealed=sealed).items()})


def _read(descriptor: int, deadline: float) -> bytes | None:
    """Read until the other end closes; None when that takes longer than the deadline."""
    answer = b""
    while select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            return answer
        answer += piece
    return None
