# Tries: to open a piece of POSIX shared memory under a name that the next student knows.
# Stopped by: landlock
# %% right if it runs
import _posixshmem
import os

_posixshmem.shm_open("/loot", os.O_RDWR | os.O_CREAT, mode=0o666)
