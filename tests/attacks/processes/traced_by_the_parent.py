# Tries: to be traced by the zygote, which would then have to let every signal pass, also the one that kills.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes

if ctypes.CDLL(None, use_errno=True).ptrace(0, 0, None, None) == 0:  # PTRACE_TRACEME
    __RIGHT__
