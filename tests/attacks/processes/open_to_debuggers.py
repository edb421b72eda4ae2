# Tries: to have its memory and its files in /proc belong to its user again.
# Stopped by: seccomp
# Flags: ctypes
# %% right if it runs
import ctypes
assert ctypes.CDLL(None).prctl(4, 1, 0, 0, 0) == 0  # PR_SET_DUMPABLE
