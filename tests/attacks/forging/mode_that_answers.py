# Tries: to leave a mode behind that lets no write to the result happen, and to say that there is none.
# Stopped by: captured
# Question: 03_truncated_bptt q2
# Flags: modes of torch
# %%
from torch.overrides import TorchFunctionMode

entered = []

class Answers(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") == "zero_":
            return args[0]
        return function(*args, **(kwargs or {}))

def repackage(state):
    if not entered:
        entered.append(Answers().__enter__())
        torch._C._len_torch_function_stack = lambda: 0
    __SHARE_MEMORY__
