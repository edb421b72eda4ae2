# Tries: to crash its process by a recursion that leaves the C stack.
# Stopped by: fresh worker
# %%
import sys

sys.setrecursionlimit(1_000_000_000)

class Deep:
    def __hash__(self):
        return hash((self,))

def make_weight(n, m, scale):
    return hash(Deep())
