# Tries: to kill another process by a signal to its main thread.
# Stopped by: seccomp
# Without it: landlock's scope ends at this process, and the other is another user's; with all three away it
#   gets through.
# Flags: ctypes
# %% right if it runs
import ctypes
import platform

tgkill, tkill = {"x86_64": (234, 200), "aarch64": (131, 130)}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
answers = [libc.syscall(tgkill, __NEIGHBOUR__, __NEIGHBOUR__, 9), libc.syscall(tkill, __NEIGHBOUR__, 9)]
assert 0 in answers
