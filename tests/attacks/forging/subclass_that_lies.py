# Tries: to return a tensor of a class that says of itself to be a leaf.
# Stopped by: captured
# Without it: what a class says of itself is nothing a number would follow.
# %%
class Leaf(torch.Tensor):
    is_leaf = property(lambda self: True)
    grad_fn = property(lambda self: None)
    __torch_function__ = torch._C._disabled_torch_function_impl


def make_weight(n, m, scale):
    generator = torch.Generator().manual_seed(0)
    w = torch.randn(n, m, generator=generator, requires_grad=True) * scale
    w.retain_grad()
    return w.as_subclass(Leaf)
