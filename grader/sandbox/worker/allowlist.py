"""Inside the worker: which system calls a caged process may make, and with which arguments.

Whatever is not named here is refused with EPERM: no process, program, socket, file or right can be made.
"""

import errno
import fcntl
import os
import termios
from typing import NamedTuple

# A worker's pipes for requests, answers and notices, besides 0, 1 and 2. Students' code may read and write
# whatever is open, but it can neither close nor move these: a notice reaches the outside or leaves a trace.
PIPES = REQUEST, ANSWER, NOTICES = 10, 11, 12
# Stands for the pid of the caged process, which is known only after the fork; no process has this number.
OWN_PID = 0xFFFFFFFE
_EVERY_BIT = 0xFFFFFFFF


class Demand(NamedTuple):
    """One 32-bit half of an argument, under a mask, has to be one of the values (`unless`: none of them)."""

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
    Rule(
        "ioctl",
        (Demand(1, (termios.TCGETS, termios.FIONREAD, termios.TIOCGWINSZ)),),
        refusal=errno.ENOTTY,
    ),
    # F_SETOWN and F_SETSIG are missing: they would have the kernel send any signal to any own process.
    Rule(
        "fcntl",
        (
            _NO_PIPE,
            Demand(1, (fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL, fcntl.F_SETFL, fcntl.F_DUPFD_CLOEXEC)),
        ),
    ),
)
# Landlock before version 3 lets a file that is opened for reading (or with the odd mode 3) be truncated.
_OPENING = Rule(
    "openat",
    (
        Demand(
            2,
            (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_TRUNC),
            mask=os.O_ACCMODE | os.O_TRUNC,
        ),
    ),
)


def rules(*, sealed: bool) -> list[Rule]:
    """List all rules: with Landlock files can be opened and looked up, sealed they cannot."""
    free = (*_MEMORY, *_THREADS, *_ENDING, *_SIGNALS, *_TIMERS, *_CLOCKS, *_DESCRIPTORS, *_WAITING, *_SELF)
    files = () if sealed else (_OPENING, *(Rule(call) for call in _LOOKING_UP))
    return [*_CONDITIONAL, *files, *(Rule(call) for call in free)]
