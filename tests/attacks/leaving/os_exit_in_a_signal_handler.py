# Tries: to end the process by a signal to itself and a handler that leaves.
# Stopped by: fresh worker
# Flags: leaving the process
# %%
import os
import signal

signal.signal(signal.SIGUSR1, lambda *_: os._exit(0))

def make_weight(n, m, scale):
    os.kill(os.getpid(), signal.SIGUSR1)
