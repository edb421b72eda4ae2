# Tries: to return at once, and to end the process later, while other questions are asked.
# Stopped by: fresh worker
# Flags: leaving the process
# %%
import os
import threading

def make_weight(n, m, scale):
    threading.Timer(0.02, os._exit, (0,)).start()
