# Tries: to end its process by SIGKILL, without a word from any handler.
# Stopped by: fresh worker
# Flags: leaving the process
# %%
import os
import signal

def make_weight(n, m, scale):
    os.kill(os.getpid(), signal.SIGKILL)
