# Tries: to return an object that hangs when it is thrown away.
# Stopped by: deadlines
# Cost: slow
# %%
import gc

class Sticky:
    def __del__(self):
        while True:
            pass

def make_weight(n, m, scale):
    gc.set_threshold(1)  # an error of the check holds the object in a cycle
    return Sticky()
