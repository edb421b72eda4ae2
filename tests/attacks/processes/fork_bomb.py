# Tries: to fill the machine with processes.
# Stopped by: seccomp
# %% right if it runs
import os
import time

children = []
for _ in range(40):  # enough to show it
    children.append(os.fork())
    if children[-1] == 0:
        time.sleep(0.2)
        os._exit(0)
