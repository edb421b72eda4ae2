# Tries: to close the descriptors by which it is asked and answers.
# Stopped by: fresh worker
# %%
import os

def make_weight(n, m, scale):
    os.closerange(3, 64)
