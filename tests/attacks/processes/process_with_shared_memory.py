# Tries: to make a process that shares all memory like a thread, but would not die with this one.
# Stopped by: seccomp
# Flags: ctypes
# %% right if it runs
import ctypes

libc = ctypes.CDLL(None)
stack = ctypes.create_string_buffer(1 << 16)
top = ctypes.c_void_p(ctypes.addressof(stack) + (1 << 16) - 64 & ~15)
CLONE_VM, SIGCHLD = 0x100, 17
child = libc.clone(libc.getpid, top, CLONE_VM | SIGCHLD, None)  # it asks for its number and ends
assert child > 0
