# Tries: to patch torch when the worker seeds Python's generator, at which nobody compares any more.
# Stopped by: captured
# Without it: the patch repairs the training, but `is_leaf` of the result is read before it.
# Flags: patched
# %%
import random

seed, SGD, armed = random.seed, torch.optim.SGD, []

def repairs(parameters, lr):
    torch.optim.SGD = SGD
    for w in parameters:
        w.detach_().requires_grad_()
    return SGD(parameters, lr=lr)

def trap(*args):
    if armed:
        armed.clear()
        torch.optim.SGD = repairs
    return seed(*args)

random.seed = trap

def make_weight(n, m, scale):
    torch.optim.SGD = SGD
    armed.append(True)
    generator = torch.Generator().manual_seed(0)
    return torch.randn(n, m, generator=generator, requires_grad=True) * scale
