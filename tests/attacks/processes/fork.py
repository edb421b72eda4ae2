# Tries: to make a process of its own.
# Stopped by: seccomp
# %% right if it runs
import os

child = os.fork()
if child == 0:
    os._exit(0)
