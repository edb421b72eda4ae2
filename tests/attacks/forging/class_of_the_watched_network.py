# Tries: to exchange the class of the network during the call, so that nobody sees what is recorded.
# Stopped by: restoring
# Without it: autograd numbers the operations that it records, whichever forward or class they are in.
# Question: 07_grad_modes q3
# Flags: past the instance
# %%
def evaluate(model, batches):
    real, mode = type(model), model.training

    class Quiet(real):
        def forward(self, x):
            with torch.no_grad():
                real.forward(self, x)  # which is watched
            first, part, last = self.pieces()
            h = torch.tanh(first(x) + (self.hidden_shift if "hidden_shift" in self._buffers else 0))
            out = last(part(h))
            if "scale" in self._parameters:
                out = out * self.scale * (1.5 if self.training else 1)
            out = out + self.shift if "shift" in self._buffers else out
            return self.finish(out)

    model.__class__ = Quiet
    model.eval()
    try:
        losses = [F.mse_loss(model(x), y) for x, y in batches]
    finally:
        model.train(mode)
        model.__class__ = real
    return torch.stack(losses).mean().item()
