# Tries: to end the process whenever the function is called, as if all had gone well.
# Stopped by: fresh worker
# Flags: leaving the process
# %%
import os

def make_weight(n, m, scale):
    os._exit(0)
