# Tries: to lock a file of torch, which needs no more than the right to read it, and to make others wait.
# Stopped by: seccomp
# %% right if it runs
import fcntl

locked = open(torch.__file__)
fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
