# Tries: to return a list nested a hundred thousand deep, which breaks whoever walks down.
# Stopped by: wire
# Without it: the recursion limit inside ends the walk, and the error is what came back.
# %%
def make_weight(n, m, scale):
    value = []
    for _ in range(100_000):
        value = [value]
    return value
