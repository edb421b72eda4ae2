"""The seccomp filter, an allowlist of system calls and its translation into BPF.

Whatever the allowlist does not name is refused with EPERM: no process, program, socket, file or right can be
made.
"""

import ctypes
import errno
import fcntl
import os
import struct
import termios
from typing import NamedTuple

from . import PIPES, syscalls
from .syscalls import syscall

# Stands for the pid of the sandboxed process, which is known only after the fork; no process has this number.
OWN_PID = 0xFFFFFFFE
_EVERY_BIT = 0xFFFFFFFF


class Demand(NamedTuple):
    """A 32-bit half of an argument, under a mask, has to be among the values (`unless`: not among them)."""

    argument: int
    values: tuple[int, ...]
    mask: int = _EVERY_BIT
    upper_half: bool = False
    unless: bool = False


class Rule(NamedTuple):
    """A system call is allowed where all demands hold; otherwise it fails with the errno `refusal`."""

    call: str
    demands: tuple[Demand, ...] = ()
    allowed: bool = True
    refusal: int = errno.EPERM


_MEMORY = ("brk", "madvise", "mmap", "mprotect", "mremap", "munmap")
_THREADS = ("futex", "getcpu", "gettid", "rseq", "sched_getaffinity", "sched_yield", "set_robust_list")
_ENDING = ("exit", "exit_group")
_SIGNALS = ("restart_syscall", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack")
_TIMERS = ("alarm", "clock_nanosleep", "getitimer", "nanosleep", "setitimer")
_CLOCKS = ("clock_getres", "clock_gettime", "getrusage", "gettimeofday", "time", "times")
_DESCRIPTORS = ("fstat", "lseek", "pread64", "read", "readv", "write", "writev")
_WAITING = ("poll", "ppoll", "pselect6", "select")
_SELF = ("getegid", "geteuid", "getgid", "getpid", "getppid", "getrandom", "getuid", "sysinfo", "uname")
_LOOKING_UP = (
    *("access", "faccessat", "faccessat2", "getcwd", "getdents64"),
    *("lstat", "newfstatat", "readlink", "readlinkat", "stat", "statx"),
)

_THREAD = 0x10900  # CLONE_VM | CLONE_SIGHAND | CLONE_THREAD
_NAMESPACES = 0x7E020000  # every CLONE_NEW... there is
_PR_SET_NAME, _PR_GET_NAME = 15, 16

_NO_PIPE = Demand(0, PIPES, unless=True)
_FCNTL_REQUESTS = (fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL, fcntl.F_SETFL, fcntl.F_DUPFD_CLOEXEC)
_CONDITIONAL = (
    Rule("close", (_NO_PIPE,)),
    # glibc answers ENOSYS by falling back to clone, whose flags a filter can see.
    Rule("clone3", allowed=False, refusal=errno.ENOSYS),
    Rule("clone", (Demand(0, (_THREAD,), mask=_THREAD | _NAMESPACES),)),
    Rule("kill", (Demand(0, (OWN_PID,)),)),
    Rule("tgkill", (Demand(0, (OWN_PID,)),)),
    Rule("prctl", (Demand(0, (_PR_SET_NAME, _PR_GET_NAME)),)),
    # Limits can be read, not set: the pointer to new ones must be null, in both halves.
    Rule("prlimit64", (Demand(2, (0,)), Demand(2, (0,), upper_half=True))),
    # ENOTTY is the answer Python expects of a descriptor that does not know a request.
    Rule("ioctl", (Demand(1, (termios.TCGETS, termios.FIONREAD, termios.TIOCGWINSZ)),), refusal=errno.ENOTTY),
    # F_SETOWN and F_SETSIG are missing: they would have the kernel send any signal to any own process.
    Rule("fcntl", (_NO_PIPE, Demand(1, _FCNTL_REQUESTS))),
)
# Landlock before version 3 lets a file that is opened for reading (or with the odd mode 3) be truncated.
_WAYS_TO_OPEN = (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_TRUNC)
_OPENING = Rule("openat", (Demand(2, _WAYS_TO_OPEN, mask=os.O_ACCMODE | os.O_TRUNC),))


def rules(*, sealed: bool) -> list[Rule]:
    """All rules: with Landlock files can be opened and looked up, sealed they cannot."""
    free = (*_MEMORY, *_THREADS, *_ENDING, *_SIGNALS, *_TIMERS, *_CLOCKS, *_DESCRIPTORS, *_WAITING, *_SELF)
    files = () if sealed else (_OPENING, *(Rule(call) for call in _LOOKING_UP))
    return [*_CONDITIONAL, *files, *(Rule(call) for call in free)]


_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06  # BPF operations on 32-bit words
_CALL_NUMBER, _CALL_ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data

_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


class Instruction(NamedTuple):
    """One BPF instruction; jumps count the instructions to skip."""

    code: int
    if_true: int
    if_false: int
    operand: int


def _load(offset: int) -> Instruction:
    return Instruction(_LOAD, 0, 0, offset)


def _answer(verdict: int) -> Instruction:
    return Instruction(_RETURN, 0, 0, verdict)


def _gate(machine: str) -> list[Instruction]:
    """Kill a process that uses another architecture's numbers: they mean other calls."""
    gate = [
        _load(_CALL_ARCHITECTURE),
        Instruction(_EQUAL, 1, 0, _ARCHITECTURE[machine]),
        _answer(_KILL),
        _load(_CALL_NUMBER),
    ]
    if machine == "x86_64":
        gate += [Instruction(_AT_LEAST, 0, 1, _X32_BIT), _answer(_KILL)]
    return gate


def _demand(demand: Demand, refusal: int) -> list[Instruction]:
    """Fall through if the argument is among the values (`unless`: not among them), otherwise refuse."""
    word = _ARGUMENTS + 8 * demand.argument + (4 if demand.upper_half else 0)
    last = len(demand.values) - 1
    return [
        _load(word),
        Instruction(_AND, 0, 0, demand.mask),
        *(
            Instruction(_EQUAL, last - index + (not demand.unless), demand.unless and index == last, value)
            for index, value in enumerate(demand.values)
        ),
        _answer(refusal),
    ]


def _rule(number: int, rule: Rule) -> list[Instruction]:
    """Decide a system call; every other call skips these instructions."""
    refusal = _ERRNO | rule.refusal
    body = [step for demand in rule.demands for step in _demand(demand, refusal)]
    body.append(_answer(_ALLOW if rule.allowed else refusal))
    return [Instruction(_EQUAL, 0, len(body), number), *body]


def program(machine: str, *, sealed: bool) -> list[Instruction]:
    """The filter for one of `syscalls.MACHINES`, with OWN_PID for the pid of the process.

    A sealed filter refuses to open and to look up files too.
    """
    numbers = syscalls.numbers(machine)
    existing = [rule for rule in rules(sealed=sealed) if rule.call in numbers]
    steps = [step for rule in existing for step in _rule(numbers[rule.call], rule)]
    return [*_gate(machine), *steps, _answer(_ERRNO | errno.EPERM)]


def available() -> bool:
    """Whether this kernel takes filters: then it answers a null pointer with EFAULT."""
    try:
        syscall("prctl", _PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0)
    except OSError as error:
        return error.errno == errno.EFAULT
    return False


class Filter:
    """A filter, prepared before the fork; `install` is irrevocable."""

    def __init__(self, steps: list[Instruction]) -> None:
        self._steps = steps

    def install(self, pid: int) -> None:
        """Filter every system call of this process from now on; wants no_new_privs first. OSError if refused.

        Args:
            pid: the process itself; it may signal no other.
        """
        words = [pid if word == OWN_PID else word for step in self._steps for word in step]
        steps = ctypes.create_string_buffer(struct.pack("=" + "HBBI" * len(self._steps), *words))
        in_memory = struct.pack("@HP", len(self._steps), ctypes.addressof(steps))
        syscall("prctl", _PR_SET_SECCOMP, _MODE_FILTER, in_memory, 0, 0)
