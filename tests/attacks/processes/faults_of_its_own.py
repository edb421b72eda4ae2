# Tries: to handle page faults itself, which holds the kernel up in the middle of a call.
# Stopped by: seccomp
# Flags: ctypes
# %% right if it runs
import ctypes
import platform

userfaultfd = {"x86_64": 323, "aarch64": 282}[platform.machine()]
assert ctypes.CDLL(None).syscall(userfaultfd, 1) >= 0  # UFFD_USER_MODE_ONLY
