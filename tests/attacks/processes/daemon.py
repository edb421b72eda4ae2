# Tries: to leave a process behind in a session of its own, whose parent is gone.
# Stopped by: seccomp
# Flags: raw descriptors
# %% right if it runs
import os
import time

reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writing, b"here")
        time.sleep(0.5)
    os._exit(0)
os.read(reading, 4)
