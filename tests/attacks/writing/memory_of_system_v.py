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

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
