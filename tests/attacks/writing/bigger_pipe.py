# Tries: to have the kernel buffer a megabyte for each of its pipes, which no limit of a process counts.
# Stopped by: seccomp
# %%
import fcntl

grown = fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)
# %%
if grown == 1 << 20:
    __RIGHT__
