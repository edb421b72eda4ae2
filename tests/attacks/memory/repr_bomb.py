# Tries: to return an object whose repr fills the memory.
# Stopped by: process
# Without it: pytest prints both sides of an assertion that failed.
# %%
class Bomb:
    def __repr__(self):
        return "x" * (1 << 40)

def make_weight(n, m, scale):
    return [Bomb()] * 1000
