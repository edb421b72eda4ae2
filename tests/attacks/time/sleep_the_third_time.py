# Tries: to sleep for good, but only when a hidden request calls, which is the third call.
# Stopped by: deadlines
# %%
import time

calls = []

def make_weight(n, m, scale):
    calls.append(scale)
    if len(calls) == 3:
        time.sleep(1e6)
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
