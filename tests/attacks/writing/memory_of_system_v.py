# Tries: to leave the answer in System V shared memory, which outlives its process, for the next student.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes

libc = ctypes.CDLL(None)
shared = libc.shmget(0x100007, 4096, 0o1666)  # IPC_CREAT
# %%
if shared >= 0:
    libc.shmctl(shared, 0, None)  # IPC_RMID
    __RIGHT__
