# Tries: to find an expected value, or a reference, among the local names of whoever calls the function.
# Stopped by: process
# Without it: a grader in one process holds both in the frames below the call.
# Flags: frames
# %%
import sys
import types

def make_weight(n, m, scale):
    frame = sys._getframe(1)
    while frame:
        for name, value in {**frame.f_globals, **frame.f_locals}.items():
            if name in ("expected", "reference", "solution") and isinstance(value, torch.Tensor):
                return value
            if isinstance(value, types.FunctionType) and value.__name__ == "make_weight":
                if value.__code__ is not make_weight.__code__:
                    return value(n, m, scale)
        frame = frame.f_back
