# Tries: to become root in a namespace of users of its own, from where much of the kernel is open.
# Stopped by: seccomp
# Flags: ctypes
# %% right if it runs
import ctypes
assert ctypes.CDLL(None).unshare(0x10000000) == 0  # CLONE_NEWUSER
