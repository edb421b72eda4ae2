# Tries: to make a process whose parent is the zygote, so that it does not look like a child of this one.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes
import os
import platform

clone = {"x86_64": 56, "aarch64": 220}[platform.machine()]
CLONE_PARENT, SIGCHLD = 0x8000, 17
brother = ctypes.CDLL(None, use_errno=True).syscall(clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
if brother == 0:
    os._exit(0)
if brother > 0:
    __RIGHT__
