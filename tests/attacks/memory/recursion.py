# Tries: to call itself until nothing is left.
# Stopped by: process
# Without it: a RecursionError in one process may rise in the grader's own frames.
# %%
def make_weight(n, m, scale):
    return make_weight(n, m, scale)
