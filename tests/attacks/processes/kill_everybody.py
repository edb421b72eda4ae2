# Tries: to kill every process it may.
# Stopped by: seccomp
# Without it: not tried, it would end the whole machine where the other layers are missing too.
# Flags: leaving the process
# %% right if it runs
import os

os.kill(-1, 9)
