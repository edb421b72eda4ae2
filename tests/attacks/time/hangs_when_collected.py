# Tries: to return an object that hangs when it is thrown away.
# Stopped by: deadlines
# Cost: slow
# %%
class Sticky:
    def __del__(self):
        while True:
            pass

def make_weight(n, m, scale):
    return Sticky()
