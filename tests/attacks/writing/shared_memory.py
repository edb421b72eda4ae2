# Tries: to open a piece of POSIX shared memory under a name that the next student knows.
# Stopped by: landlock
# %%
import _posixshmem
import os

shared = _posixshmem.shm_open("/loot", os.O_RDWR | os.O_CREAT, mode=0o666)
# %%
if shared >= 0:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
