# Tries: to open the answer by openat2, the newer call that a list of forbidden calls forgets.
# Stopped by: landlock
# Without it: the filter of seccomp does not know openat2; with neither it gets through.
# Flags: ctypes
# %%
import ctypes
import os
import struct

OPENAT2 = 437  # the same on x86_64 and aarch64
libc = ctypes.CDLL(None, use_errno=True)
how = struct.pack("QQQ", os.O_RDONLY, 0, 0)
answer = libc.syscall(OPENAT2, -100, b"__OUTSIDE__/answer.py", how, len(how))
if answer >= 0:
    exec(os.read(answer, 4096))
