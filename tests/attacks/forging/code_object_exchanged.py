# Tries: to exchange the code of the networks' forward, which stays the same function; the collector finds it.
# Stopped by: restoring
# Without it: autograd numbers the operations that it records, whichever forward or class they are in.
# Question: 07_grad_modes q3
# Flags: code objects, gc
# %%
import gc
import types

kept = []


def quiet(self, x):
    with torch.no_grad():
        type(self).watched(self, x)
    first, part, last = self.pieces()
    h = torch.tanh(first(x) + (self.hidden_shift if "hidden_shift" in self._buffers else 0))
    out = last(part(h))
    if "scale" in self._parameters:
        out = out * self.scale * (1.5 if self.training else 1)
    out = out + self.shift if "shift" in self._buffers else out
    return self.finish(out)


def evaluate(model, batches):
    kind, mode = type(model), model.training
    if kind.__name__ == "Net" and not kept:
        kept.append(kind)
        real = next(part for part in gc.get_referents(kind.forward) if isinstance(part, types.FunctionType))
        kind.watched = types.FunctionType(real.__code__, real.__globals__)
        real.__code__ = quiet.__code__
    model.eval()
    try:
        losses = [F.mse_loss(model(x), y) for x, y in batches]
    finally:
        model.train(mode)
    return torch.stack(losses).mean().item()
