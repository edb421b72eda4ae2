# Tries: to learn a probe's seed from the function that sets it, and to patch torch at that moment.
# Stopped by: captured
# Without it: the patch is seen as soon as the function returns.
# Question: 05_inplace_reinit q1
# %%
import random

seed, honest = random.seed, torch.Tensor.backward


def refuses(self, *args, **kwargs):
    torch.Tensor.backward = honest
    raise RuntimeError("modified by an inplace operation")


def trap(*args):
    torch.Tensor.backward = refuses
    return seed(*args)


random.seed = trap


def reinit_(w, value):
    w.data.fill_(value)
    return w
