# Tries: to fork by the bare system call, past the C library's.
# Stopped by: seccomp
# Flags: ctypes
# %% right if it runs
import ctypes
import os
import platform

libc = ctypes.CDLL(None)
# aarch64 has no fork: clone(SIGCHLD) is the same
child = libc.syscall(57) if platform.machine() == "x86_64" else libc.syscall(220, 17, 0, 0, 0, 0)
if child == 0:
    os._exit(0)
assert child > 0
