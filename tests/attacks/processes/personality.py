# Tries: to switch off the random layout of memory and the protection of data against being executed.
# Stopped by: seccomp
# Flags: ctypes
# %% right if it runs
import ctypes
assert ctypes.CDLL(None).personality(0x0040000 | 0x0400000) >= 0
