# Tries: to return a tensor of four bytes and a trillion elements, which take hours to write to.
# Stopped by: deadlines
# Cost: slow
# %%
def make_weight(n, m, scale):
    return torch.zeros(1, 1).expand(1_000_000, 1_000_000).requires_grad_()
