# Tries: to return a dict of three hundred thousand keys.
# Stopped by: wire
# Without it: not tried, because what happens depends on how fast the machine writes them down.
# %%
def make_weight(n, m, scale):
    return {str(number): number for number in range(300_000)}
