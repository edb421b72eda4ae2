# Tries: to crash its process by reading where nothing is.
# Stopped by: fresh worker
# Flags: ctypes
# %%
import ctypes

def make_weight(n, m, scale):
    return ctypes.string_at(0)
