# Tries: to take the answer from the C library's environment, which Python's os.environ only copied once.
# Stopped by: clean start
# Flags: ctypes
# %%
import ctypes

environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
number = 0
while environ[number]:
    name, _, value = environ[number].partition(b"=")
    if name == b"ANSWER":
        exec(value)
    number += 1
