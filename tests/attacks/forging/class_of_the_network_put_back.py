# Tries: the same, and to put the network's own forward back before the function returns.
# Stopped by: restoring
# Without it: autograd numbers the operations that it records, whichever forward they are in.
# Question: 07_grad_modes q3
# Flags: past the instance
# %%
def evaluate(model, batches):
    kind, mode = type(model), model.training
    real = kind.forward

    def quiet(self, x):
        with torch.no_grad():
            real(self, x)  # which is watched
        first, part, last = self.pieces()
        h = torch.tanh(first(x) + (self.hidden_shift if "hidden_shift" in self._buffers else 0))
        out = last(part(h))
        if "scale" in self._parameters:
            out = out * self.scale * (1.5 if self.training else 1)
        out = out + self.shift if "shift" in self._buffers else out
        return self.finish(out)

    if kind.__name__ == "Net":
        kind.forward = quiet
    model.eval()
    try:
        losses = [F.mse_loss(model(x), y) for x, y in batches]
    finally:
        model.train(mode)
        if kind.__name__ == "Net":
            kind.forward = real
    return torch.stack(losses).mean().item()
