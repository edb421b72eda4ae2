# Tries: to have the kernel buffer a megabyte for each of its pipes, which no limit of a process counts.
# Stopped by: seccomp
# %% right if it runs
import fcntl

fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)
