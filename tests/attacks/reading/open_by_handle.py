# Tries: to open the answer by its handle, with the capability to read everything which a worker may have.
# Stopped by: seccomp
# Without it: landlock refuses the file also by its handle; with neither it gets through where the grader is root.
# Flags: ctypes
# %%
import ctypes
import os
import platform

name_to_handle_at, open_by_handle_at = {"x86_64": (303, 304), "aarch64": (264, 265)}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
handle = ctypes.create_string_buffer(b"\x80\0\0\0" + bytes(4 + 128), 4 + 4 + 128)
mount = ctypes.c_int()
libc.syscall(name_to_handle_at, -100, b"__OUTSIDE__/answer.py", handle, ctypes.byref(mount), 0)
place = os.open("/usr/lib", os.O_RDONLY)  # on the same file system as all of a small machine
answer = libc.syscall(open_by_handle_at, place, handle, os.O_RDONLY)
if answer >= 0:
    exec(os.read(answer, 4096))
