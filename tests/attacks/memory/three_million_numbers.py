# Tries: to return a tensor of three million numbers, which are as many objects outside.
# Stopped by: wire
# Without it: not tried, because whether the answer comes in time depends on how fast the machine is.
# %%
def make_weight(n, m, scale):
    return torch.zeros(1).expand(3_000_000).requires_grad_()
