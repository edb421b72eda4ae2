# Tries: to drown the grader by writing to the descriptors themselves.
# Stopped by: wire
# Flags: raw descriptors
# %%
import os

def make_weight(n, m, scale):
    for _ in range(300):
        os.write(1, b"drop " * 200_000)
