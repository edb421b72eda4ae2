# Tries: to fork by clone3, whose flags lie in memory where no filter can see them.
# Stopped by: seccomp
# Flags: ctypes
# %% right if it runs
import ctypes
import os
import struct

CLONE3, SIGCHLD = 435, 17  # the same on x86_64 and aarch64
arguments = struct.pack("8Q", 0, 0, 0, 0, SIGCHLD, 0, 0, 0)
child = ctypes.CDLL(None).syscall(CLONE3, arguments, len(arguments))
if child == 0:
    os._exit(0)
assert child > 0
