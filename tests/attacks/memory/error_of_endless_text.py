# Tries: to raise an error with a text of twenty-four million characters.
# Stopped by: wire
# Without it: the reader of answers takes no text as long as this.
# %%
def make_weight(n, m, scale):
    raise ValueError("so " * 8_000_000)
