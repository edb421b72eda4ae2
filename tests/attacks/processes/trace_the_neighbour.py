# Tries: to stop another process and to look into it as a debugger does.
# Stopped by: seccomp
# Without it: neither landlock nor another user's process allows it; with all three away it gets through.
# Flags: ctypes
# %%
import ctypes

PTRACE_ATTACH, PTRACE_DETACH = 16, 17
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(PTRACE_ATTACH, __NEIGHBOUR__, None, None) == 0:
    libc.waitpid(__NEIGHBOUR__, None, 0)
    libc.ptrace(PTRACE_DETACH, __NEIGHBOUR__, None, None)
    __RIGHT__
