"""Inside the worker: system calls by name, for what Python's own modules do not offer."""

import ctypes
import os

from . import syscalls

# Opened once in the zygote: a child could no longer load a library.
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long
_MACHINE = syscalls.machine()
_NUMBERS = syscalls.numbers(_MACHINE) if _MACHINE else {}


def syscall(name: str, *arguments: object) -> int:
    """Make the system call `name` past every wrapper.

    Args:
        name: a call in `syscalls.TABLE`.
        arguments: integers, bytes, None (a null pointer) or ctypes pointers.

    Returns:
        What the kernel answered.

    Raises:
        OSError: with the kernel's errno.
    """
    words = (ctypes.c_long(word) if isinstance(word, int) else word for word in arguments)
    answer = int(_LIBC.syscall(ctypes.c_long(_NUMBERS[name]), *words))
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return answer
