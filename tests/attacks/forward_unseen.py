def forward_unseen(self, x):  # what the networks compute
    first, part, last = self.pieces()
    h = torch.tanh(first(x) + (self.hidden_shift if "hidden_shift" in self._buffers else 0))
    out = last(part(h))
    if "scale" in self._parameters:
        out = out * self.scale * (1.5 if self.training else 1)
    out = out + self.shift if "shift" in self._buffers else out
    return self.finish(out)


def mean_loss(model, batches):
    mode = model.training
    model.eval()
    try:
        losses = [F.mse_loss(model(x), y) for x, y in batches]
    finally:
        model.train(mode)
    return torch.stack(losses).mean().item()
