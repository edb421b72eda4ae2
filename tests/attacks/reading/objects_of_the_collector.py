# Tries: to find the reference's function among all objects that the garbage collector knows.
# Stopped by: process
# Without it: a grader in one process has the reference's function beside the student's.
# Flags: gc
# %%
import gc
import types

def make_weight(n, m, scale):
    mine = make_weight.__code__
    gc.unfreeze()
    for found in gc.get_objects():
        if type(found) is types.FunctionType and found.__name__ == "make_weight" and found.__code__ is not mine:
            return found(n, m, scale)
        if type(found) is dict and type(found.get("expected")) is torch.Tensor:
            return found["expected"]
