# Tries: to open a piece of POSIX shared memory under a name that the next student knows.
# Stopped by: landlock
# %%
import _posixshmem
import os

shared = _posixshmem.shm_open("/loot", os.O_RDWR | os.O_CREAT, mode=0o666)
# %%
if shared >= 0:
    __RIGHT__
