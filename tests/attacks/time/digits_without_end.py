# Tries: to call C code that hears no signal until it is done, in years.
# Stopped by: deadlines
# Cost: slow
# %%
import sys

sys.set_int_max_str_digits(0)

def make_weight(n, m, scale):
    return int("7" * 300_000_000)
