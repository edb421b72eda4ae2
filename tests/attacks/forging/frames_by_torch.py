# Tries: to find the loss that waits by torch's own look at frames, and to raise autograd's error from it.
# Stopped by: captured
# Without it: the words of a check file are opaque before the layer is taken away.
# Question: 05_inplace_reinit q1
# Flags: frames
# %%
from torch._jit_internal import createResolutionCallbackFromFrame as named

TEXT = "one of the variables needed for gradient computation has been modified by an inplace operation: it was"

def refuses(gradient):
    raise RuntimeError(TEXT)

def reinit_(w, value):
    w.data.fill_(value)
    for level in range(2, 6):
        for loss, _ in (named(level)("waiting") or {}).values():
            loss.register_hook(refuses)
    return w
