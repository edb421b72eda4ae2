# Tries: to copy memory out of the zygote without opening a file, by process_vm_readv.
# Stopped by: seccomp
# Without it: neither landlock nor another user's process allows it; with all three away it gets through.
# Flags: ctypes
# %%
import ctypes
import os
import platform

process_vm_readv = {"x86_64": 310, "aarch64": 270}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)


class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


# The zygote's memory lies where this process has its own: it is a copy of it.
there = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_Py_NoneStruct"))
copy = ctypes.create_string_buffer(64)
mine, theirs = Piece(ctypes.addressof(copy), 64), Piece(there, 64)
got = libc.syscall(process_vm_readv, os.getppid(), ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
# %%
if got == 64:
    __RIGHT__
