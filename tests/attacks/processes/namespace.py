# Tries: to become root in a namespace of users of its own, from where much of the kernel is open.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes

if ctypes.CDLL(None, use_errno=True).unshare(0x10000000) == 0:  # CLONE_NEWUSER
    __RIGHT__
