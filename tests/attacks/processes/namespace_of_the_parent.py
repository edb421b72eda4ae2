# Tries: to enter the namespaces that the zygote lives in.
# Stopped by: seccomp
# Without it: neither landlock nor the lack of rights allows it; with all three away it gets through.
# Flags: ctypes
# %%
import ctypes
import os

place = os.open(f"/proc/{os.getppid()}/ns/uts", os.O_RDONLY)
if ctypes.CDLL(None, use_errno=True).setns(place, 0) == 0:
    __RIGHT__
