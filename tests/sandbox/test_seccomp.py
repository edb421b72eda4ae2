"""What the filter answers on both architectures, computed by a small interpreter of BPF."""

import errno
import fcntl
import os
import pathlib
import platform
import re
import signal
import struct

import pytest

from grader.sandbox.worker import NOTICES, PIPES, REQUEST, seccomp, syscalls
from grader.sandbox.worker.seccomp import OWN_PID

HEADERS = {
    "x86_64": pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": pathlib.Path("/usr/include/asm-generic/unistd.h"),
}
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED, KILLED = "allowed", "killed"
THREAD_OF_GLIBC, THREAD_OF_MUSL = 0x3D0F00, 0x7D0F00
CLONE_NEWNET = 0x40000000

MACHINES = pytest.mark.parametrize("machine", syscalls.MACHINES)
VARIANTS = pytest.mark.parametrize("sealed", [False, True])


def decide(machine, call, *arguments, sealed=False, architecture=None):
    """Run the filter over one system call, given by name or number."""
    number = call if isinstance(call, int) else syscalls.numbers(machine)[call]
    words = [word & (2**64 - 1) for word in (*arguments, 0, 0, 0, 0, 0, 0)][:6]
    data = struct.pack("<IIQ6Q", number, architecture or ARCHITECTURE[machine], 0, *words)
    steps = iter(seccomp.program(machine, sealed=sealed))
    accumulator = 0
    for code, if_true, if_false, operand in steps:
        if code == 0x20:
            accumulator = int.from_bytes(data[operand : operand + 4], "little")
        elif code == 0x54:
            accumulator &= operand
        elif code == 0x06:
            return {0x7FFF0000: ALLOWED, 0x80000000: KILLED}.get(operand, operand & 0xFFFF)
        else:
            holds = {0x15: accumulator == operand, 0x35: accumulator >= operand}[code]
            for _ in range(if_true if holds else if_false):
                next(steps)
    raise AssertionError("the filter ended without an answer")


def numbers_in(header):
    """Read the numbers a kernel header defines, following the names it uses for 64 bits."""
    defines = dict(re.findall(r"#define (__NR\w+)\s+(\w+)", header.read_text()))
    resolved = {name: defines.get(value, value) for name, value in defines.items()}
    return {name.removeprefix("__NR_"): int(value) for name, value in resolved.items() if value.isdigit()}


@MACHINES
def test_numbers_are_the_kernels(machine):
    """Every number of the table is the one in the kernel's header, and a missing one is missing there."""
    header = HEADERS[machine]
    if not header.exists():
        needed = machine in {"aarch64", platform.machine()}  # the generic header is on every architecture
        assert not (needed and "CI" in os.environ), f"install linux-libc-dev: {header} is missing"
        pytest.skip(f"{header} is not installed")
    defined = numbers_in(header)
    column = syscalls.MACHINES.index(machine)
    ours = {call: row[column] for call, row in syscalls.TABLE.items()}
    assert ours == {call: defined.get(call) for call in ours}


@MACHINES
@VARIANTS
@pytest.mark.parametrize("call", ["read", "write", "close", "mmap", "futex", "exit_group", "clock_nanosleep"])
def test_everyday_calls_are_allowed(machine, call, sealed):
    assert decide(machine, call, sealed=sealed) == ALLOWED


@MACHINES
@VARIANTS
@pytest.mark.parametrize(
    "call",
    [
        *("socket", "socketpair", "execve", "ptrace", "setsid", "setpgid", "mount", "unshare", "bpf"),
        *("io_uring_setup", "memfd_create", "fchmodat", "capset", "landlock_restrict_self"),
    ],
)
def test_whatever_is_not_named_is_refused(machine, call, sealed):
    """The list names what is allowed, so everything else is not, numbers of the future included."""
    assert decide(machine, call, sealed=sealed) == errno.EPERM
    assert decide(machine, 2000, sealed=sealed) == errno.EPERM


@MACHINES
@pytest.mark.parametrize(
    "call", ["openat", "newfstatat", "statx", "readlinkat", "getdents64", "getcwd", "faccessat2"]
)
def test_sealed_means_that_files_cannot_even_be_looked_up(machine, call):
    """Without Landlock existence and size of files stay hidden too."""
    assert decide(machine, call) == ALLOWED
    assert decide(machine, call, sealed=True) == errno.EPERM


@MACHINES
@pytest.mark.parametrize(
    ("call", "arguments", "answer"),
    [
        ("clone", (THREAD_OF_GLIBC,), ALLOWED),
        ("clone", (THREAD_OF_MUSL,), ALLOWED),
        ("clone", (signal.SIGCHLD,), errno.EPERM),
        ("clone", (0x4111,), errno.EPERM),  # what vfork and posix_spawn ask for
        ("clone", (THREAD_OF_GLIBC | CLONE_NEWNET,), errno.EPERM),
        ("clone3", (), errno.ENOSYS),
        ("kill", (OWN_PID, 9), ALLOWED),
        ("kill", (1, 9), errno.EPERM),
        ("kill", (0, 9), errno.EPERM),
        ("kill", (-1, 9), errno.EPERM),
        ("tgkill", (OWN_PID, 7, 9), ALLOWED),
        ("tgkill", (7, 7, 9), errno.EPERM),
        ("prctl", (15,), ALLOWED),  # PR_SET_NAME
        ("prctl", (16,), ALLOWED),  # PR_GET_NAME
        ("prctl", (4, 1), errno.EPERM),  # PR_SET_DUMPABLE
        ("prlimit64", (0, 7, 0, 0x7F0000001000), ALLOWED),
        ("prlimit64", (0, 7, 0x1000, 0), errno.EPERM),
        ("prlimit64", (0, 7, 0x7F0000000000, 0), errno.EPERM),  # a pointer whose lower half is zero
        ("ioctl", (1, 0x5401), ALLOWED),  # TCGETS
        ("ioctl", (1, 0x5412), errno.ENOTTY),  # TIOCSTI types on the terminal
        ("fcntl", (1, fcntl.F_SETFL), ALLOWED),
        ("fcntl", (1, fcntl.F_SETOWN), errno.EPERM),
        ("fcntl", (1, 10), errno.EPERM),  # F_SETSIG
        ("fcntl", (1, fcntl.F_DUPFD_CLOEXEC, NOTICES), ALLOWED),  # which gives the first free one behind it
        ("fcntl", (9, fcntl.F_GETFD), ALLOWED),
        *(("fcntl", (pipe, fcntl.F_SETFL), errno.EPERM) for pipe in PIPES),
        ("close", (REQUEST - 1,), ALLOWED),
        ("close", (NOTICES + 1,), ALLOWED),
        *(("close", (pipe,), errno.EPERM) for pipe in PIPES),
        ("close", (NOTICES + (1 << 32),), errno.EPERM),  # of which the kernel takes the lower half
        ("openat", (0, 0, os.O_RDONLY | os.O_CLOEXEC), ALLOWED),
        ("openat", (0, 0, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), ALLOWED),
        ("openat", (0, 0, os.O_RDONLY | os.O_TRUNC), errno.EPERM),
        ("openat", (0, 0, os.O_ACCMODE | os.O_TRUNC), errno.EPERM),
        ("openat", (0, 0, os.O_ACCMODE), errno.EPERM),
    ],
)
def test_arguments_decide(machine, call, arguments, answer):
    """Where a call can be both harmless and not, its arguments are looked at."""
    assert decide(machine, call, *arguments) == answer


def test_another_architecture_is_deadly():
    """Numbers are compared only after the architecture they belong to."""
    assert decide("x86_64", "read", architecture=0x40000003) == KILLED  # int 0x80
    assert decide("aarch64", "read", architecture=0x40000028) == KILLED  # 32-bit ARM
    assert decide("x86_64", 0x40000000 + 39) == KILLED  # x32
