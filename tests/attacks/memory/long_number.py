# Tries: to return a number of ten million digits.
# Stopped by: process
# Without it: a grader in one process needs minutes to print it.
# %%
import sys

sys.set_int_max_str_digits(0)

def make_weight(n, m, scale):
    return 1 << 33_000_000
