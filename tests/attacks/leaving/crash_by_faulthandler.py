# Tries: to crash its process with Python's own means, without ctypes.
# Stopped by: fresh worker
# %%
import faulthandler

def make_weight(n, m, scale):
    faulthandler._sigsegv()
