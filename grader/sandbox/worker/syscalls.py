"""The system calls that the sandbox allows, uses or attacks, and how to make one."""

import ctypes
import os
import platform
import sys

# Each call's number on (x86_64, aarch64); None if that architecture never had the call.
TABLE: dict[str, tuple[int | None, int | None]] = {
    "access": (21, None),
    "alarm": (37, None),
    "bpf": (321, 280),
    "brk": (12, 214),
    "capset": (126, 91),
    "clock_getres": (229, 114),
    "clock_gettime": (228, 113),
    "clock_nanosleep": (230, 115),
    "clone": (56, 220),
    "clone3": (435, 435),
    "close": (3, 57),
    "execve": (59, 221),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "fchmodat": (268, 53),
    "fcntl": (72, 25),
    "fork": (57, None),
    "fstat": (5, 80),
    "futex": (202, 98),
    "getcpu": (309, 168),
    "getcwd": (79, 17),
    "getdents64": (217, 61),
    "getegid": (108, 177),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getitimer": (36, 102),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "getrandom": (318, 278),
    "getrusage": (98, 165),
    "gettid": (186, 178),
    "gettimeofday": (96, 169),
    "getuid": (102, 174),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "kill": (62, 129),
    "landlock_add_rule": (445, 445),
    "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446),
    "lseek": (8, 62),
    "lstat": (6, None),
    "madvise": (28, 233),
    "memfd_create": (319, 279),
    "mmap": (9, 222),
    "mount": (165, 40),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "munmap": (11, 215),
    "nanosleep": (35, 101),
    "newfstatat": (262, 79),
    "openat": (257, 56),
    "poll": (7, None),
    "ppoll": (271, 73),
    "prctl": (157, 167),
    "pread64": (17, 67),
    "prlimit64": (302, 261),
    "pselect6": (270, 72),
    "ptrace": (101, 117),
    "read": (0, 63),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "readv": (19, 65),
    "restart_syscall": (219, 128),
    "rseq": (334, 293),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_getaffinity": (204, 123),
    "sched_yield": (24, 124),
    "select": (23, None),
    "set_robust_list": (273, 99),
    "setitimer": (38, 103),
    "setpgid": (109, 154),
    "setsid": (112, 157),
    "sigaltstack": (131, 132),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "stat": (4, None),
    "statx": (332, 291),
    "sysinfo": (99, 179),
    "tgkill": (234, 131),
    "time": (201, None),
    "times": (100, 153),
    "uname": (63, 160),
    "unshare": (272, 97),
    "write": (1, 64),
    "writev": (20, 66),
}
MACHINES = ("x86_64", "aarch64")


def machine() -> str | None:
    """The architecture of this machine if the sandbox can be built for it, else None."""
    name = platform.machine()
    is_64_bit = sys.maxsize > 2**32
    return name if sys.platform == "linux" and is_64_bit and name in MACHINES else None


def numbers(name: str) -> dict[str, int]:
    """The numbers of all calls that exist on an architecture."""
    column = MACHINES.index(name)
    return {call: number for call, row in TABLE.items() if (number := row[column]) is not None}


# System calls by name, for what Python's own modules do not offer.

# Opened once in the zygote: a child could no longer load a library.
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long
_MACHINE = machine()
_NUMBERS = numbers(_MACHINE) if _MACHINE else {}


def syscall(name: str, *arguments: object) -> int:
    """Make a system call of `TABLE` past every wrapper; OSError with the kernel's errno where it fails.

    Arguments are integers, bytes, None (a null pointer) or ctypes pointers.
    """
    words = (ctypes.c_long(word) if isinstance(word, int) else word for word in arguments)
    answer = int(_LIBC.syscall(ctypes.c_long(_NUMBERS[name]), *words))
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return answer
