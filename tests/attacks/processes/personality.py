# Tries: to switch off the random layout of memory and the protection of data against being executed.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes

if ctypes.CDLL(None, use_errno=True).personality(0x0040000 | 0x0400000) >= 0:
    __RIGHT__
