# Tries: to take a gigabyte of memory by tensors.
# Stopped by: limits
# %%
def make_weight(n, m, scale):
    hoard = [torch.empty(16 << 20) for _ in range(16)]
    assert len(hoard) == 16
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
