# Tries: to take back the order by which the kernel ends it together with the zygote.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes

if ctypes.CDLL(None, use_errno=True).prctl(1, 0, 0, 0, 0) == 0:  # PR_SET_PDEATHSIG
    __RIGHT__
