# Tries: to give all networks another forward, which nobody watches.
# Stopped by: restoring
# Without it: autograd numbers the operations that it records, whichever forward or class they are in.
# Question: 07_grad_modes q3
# Flags: past the instance
# %%
kept = []


def evaluate(model, batches):
    kind, mode = type(model), model.training
    if kind.__name__ == "Net" and not kept:
        kept.append(kind.forward)

        def quiet(self, x):
            with torch.no_grad():
                kept[0](self, x)  # which is watched
            first, part, last = self.pieces()
            h = torch.tanh(first(x) + (self.hidden_shift if "hidden_shift" in self._buffers else 0))
            out = last(part(h))
            if "scale" in self._parameters:
                out = out * self.scale * (1.5 if self.training else 1)
            out = out + self.shift if "shift" in self._buffers else out
            return self.finish(out)

        kind.forward = quiet
    model.eval()
    try:
        losses = [F.mse_loss(model(x), y) for x, y in batches]
    finally:
        model.train(mode)
    return torch.stack(losses).mean().item()
