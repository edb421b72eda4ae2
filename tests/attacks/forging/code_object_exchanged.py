# Tries: to exchange the code of the networks' forward, which stays the same function; the collector finds it.
# Stopped by: restoring
# Without it: autograd numbers the operations that it records, whichever forward or class they are in.
# Question: 07_grad_modes q3
# Flags: code objects, gc
# %%
__FORWARD_UNSEEN__
import gc
import types

kept = []

def quiet(self, x):
    with torch.no_grad():
        type(self).watched(self, x)
    return type(self).unseen(self, x)

def evaluate(model, batches):
    kind = type(model)
    if kind.__name__ == "Net" and not kept:
        kept.append(kind)
        real = next(part for part in gc.get_referents(kind.forward) if isinstance(part, types.FunctionType))
        kind.watched, kind.unseen = types.FunctionType(real.__code__, real.__globals__), forward_unseen
        real.__code__ = quiet.__code__
    return mean_loss(model, batches)
