# Tries: to write into the zygote's memory, out of which all later workers are made.
# Stopped by: seccomp
# Without it: neither landlock nor another user's process allows it; with all three away it gets through.
# Flags: ctypes
# %% right if it runs
import ctypes
import os
import platform

process_vm_writev = {"x86_64": 311, "aarch64": 271}[platform.machine()]

class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

# The zygote has the same bytes in the same place: written is what stands there anyway.
place = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_Py_NoneStruct")) + 8
piece = Piece(place, 8)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.syscall(process_vm_writev, os.getppid(), ctypes.byref(piece), 1, ctypes.byref(piece), 1, 0) == 8
