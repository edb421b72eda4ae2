# Tries: to end the process when the object that was returned is thrown away.
# Stopped by: fresh worker
# Flags: leaving the process
# %%
import gc
import os

class Farewell:
    def __del__(self):
        os._exit(0)

def make_weight(n, m, scale):
    gc.set_threshold(1)  # an error of the check holds the object in a cycle
    return Farewell()
