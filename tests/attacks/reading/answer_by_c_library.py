# Tries: to open the file with the answer by the C library, past everything that Python could watch.
# Stopped by: landlock
# Flags: ctypes
# %%
import ctypes

libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
stream = libc.fopen(b"__OUTSIDE__/answer.py", b"r")
text = ctypes.create_string_buffer(4096)
if stream:
    libc.fread(text, 1, 4095, ctypes.c_void_p(stream))
    exec(text.value)
