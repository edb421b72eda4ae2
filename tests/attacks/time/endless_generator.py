# Tries: to return a generator that never ends.
# Stopped by: process
# Without it: a grader in one process that lists what came back never ends.
# %%
import itertools

def make_weight(n, m, scale):
    return (number for number in itertools.count())
