# Tries: to end the process when the object that was returned is thrown away.
# Stopped by: fresh worker
# Flags: leaving the process
# %%
import os

class Farewell:
    def __del__(self):
        os._exit(0)

def make_weight(n, m, scale):
    return Farewell()
