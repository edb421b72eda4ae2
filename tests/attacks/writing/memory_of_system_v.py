# Tries: to leave the answer in System V shared memory, which outlives its process, for the next student.
# Stopped by: seccomp
# Flags: ctypes
# %% right if it runs
import ctypes

libc = ctypes.CDLL(None)
shared = libc.shmget(0x100007, 4096, 0o1666)  # IPC_CREAT
assert libc.shmctl(shared, 0, None) == 0  # IPC_RMID
