# Tries: to leave the answer in the kernel's keyring of its user, where the next worker finds it.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes
import platform

add_key, keyctl = {"x86_64": (248, 250), "aarch64": (217, 219)}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
key = libc.syscall(add_key, b"user", b"loot", b"answer", 6, -4)  # KEY_SPEC_USER_KEYRING
if key > 0:
    libc.syscall(keyctl, 21, key)  # KEYCTL_INVALIDATE
    __RIGHT__
