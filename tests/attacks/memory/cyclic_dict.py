# Tries: to return a dict that holds itself.
# Stopped by: wire
# Without it: the recursion limit inside ends the walk, and the error is what came back.
# %%
def make_weight(n, m, scale):
    value = {}
    value["again"] = [value, value]
    return value
