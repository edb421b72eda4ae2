# Tries: to lay a filter of its own over the grader's, which allows everything.
# Stopped by: seccomp
# Flags: ctypes
# %% right if it runs
import ctypes
import struct

allow_all = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000))
program = struct.pack("H6xQ", 1, ctypes.addressof(allow_all))
assert ctypes.CDLL(None).prctl(22, 2, program, 0, 0) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
