# Tries: to send the next student a message through a queue in the kernel.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes

libc = ctypes.CDLL(None)
queue = libc.msgget(0x100007, 0o1666)  # IPC_CREAT
sent = libc.msgsnd(queue, b"\1\0\0\0\0\0\0\0answer", 6, 0o4000)  # IPC_NOWAIT
# %%
if sent == 0:
    libc.msgctl(queue, 0, None)  # IPC_RMID
    __RIGHT__
