# Tries: to take a fresh Landlock ruleset, in which everything is allowed.
# Stopped by: seccomp
# Flags: ctypes
# %% right if it runs
import ctypes
import struct

libc = ctypes.CDLL(None, use_errno=True)
rules = libc.syscall(444, struct.pack("Q", 1), 8, 0)  # the same numbers on x86_64 and aarch64
assert libc.syscall(446, rules, 0) == 0
