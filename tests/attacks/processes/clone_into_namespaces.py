# Tries: to make a process in namespaces of its own, as a container is made.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes
import os
import platform

clone = {"x86_64": 56, "aarch64": 220}[platform.machine()]
flags = 0x10000000 | 0x20000000 | 0x40000000 | 17  # CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | SIGCHLD
child = ctypes.CDLL(None, use_errno=True).syscall(clone, flags, 0, 0, 0, 0)
if child == 0:
    os._exit(0)
if child > 0:
    __RIGHT__
