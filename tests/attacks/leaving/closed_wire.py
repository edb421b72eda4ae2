# Tries: to close the descriptors by which it is asked and answers.
# Stopped by: seccomp
# Without it: the other questions are asked in a fresh worker each.
# %%
import os

def make_weight(n, m, scale):
    os.closerange(3, 64)
