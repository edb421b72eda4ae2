# Tries: to find the probe's old loss by torch's own look at frames, and to raise autograd's error from it.
# Stopped by: captured
# Without it: the names that it looks for are in no frame of a contract.
# Question: 05_inplace_reinit q1
# Flags: frames
# %%
from torch._jit_internal import createResolutionCallbackFromFrame as named


def refuses(gradient):
    raise RuntimeError("modified by an inplace operation")


def reinit_(w, value):
    w.data.fill_(value)
    loss = named(2)("loss")
    if loss is not None:
        loss.register_hook(refuses)
    return w
