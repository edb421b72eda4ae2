# Tries: to crash its process by a recursion that leaves the C stack.
# Stopped by: fresh worker
# Without it: the recursion limit is put back before a request.
# %%
import sys

sys.setrecursionlimit(1_000_000_000)

class Deep:
    def __hash__(self):
        return hash((self,))

def make_weight(n, m, scale):
    return hash(Deep())
