# Tries: to stop its process by SIGSTOP, so that it neither answers nor ends.
# Stopped by: deadlines
# Flags: leaving the process
# Cost: slow
# %%
import os
import signal

def make_weight(n, m, scale):
    os.kill(os.getpid(), signal.SIGSTOP)
