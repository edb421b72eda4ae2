# Tries: to have the kernel kill another process as soon as there is something to read in a pipe.
# Stopped by: seccomp
# Without it: landlock's scope ends at this process, and the other is another user's; with all three away it
#   gets through.
# Flags: raw descriptors
# %% right if it runs
import fcntl
import os
import time

reading, writing = os.pipe()
fcntl.fcntl(reading, fcntl.F_SETOWN, __NEIGHBOUR__)
fcntl.fcntl(reading, 10, 9)  # F_SETSIG, SIGKILL
fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC)
os.write(writing, b"now")
time.sleep(0.1)
assert not os.path.exists("/proc/__NEIGHBOUR__")
