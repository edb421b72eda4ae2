# Tries: to return a tensor of three million numbers, which are as many objects outside.
# Stopped by: wire
# %%
def make_weight(n, m, scale):
    return torch.zeros(1).expand(3_000_000).requires_grad_()
