# Tries: to give all tensors properties that lie about leaves.
# Stopped by: captured
# Without it: what the cells patched is put back before the first probe.
# Flags: patched
# %%
torch.Tensor.is_leaf = property(lambda self: True)
torch.Tensor.grad_fn = property(lambda self: None)


def make_weight(n, m, scale):
    generator = torch.Generator().manual_seed(0)
    w = torch.randn(n, m, generator=generator, requires_grad=True) * scale
    w.retain_grad()
    return w
