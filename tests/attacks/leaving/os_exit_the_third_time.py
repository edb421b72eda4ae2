# Tries: to pass for honest until the function is called for the third time.
# Stopped by: fresh worker
# Flags: leaving the process
# %%
import itertools
import os

calls = itertools.count(1)

def make_weight(n, m, scale):
    if next(calls) == 3:
        os._exit(0)
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
