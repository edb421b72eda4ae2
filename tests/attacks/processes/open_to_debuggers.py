# Tries: to have its memory and its files in /proc belong to its user again.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes

if ctypes.CDLL(None, use_errno=True).prctl(4, 1, 0, 0, 0) == 0:  # PR_SET_DUMPABLE
    __RIGHT__
