# Tries: to choose how and on which processors it is scheduled.
# Stopped by: seccomp
# %% right if it runs
import os

os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
os.sched_setaffinity(0, os.sched_getaffinity(0))
