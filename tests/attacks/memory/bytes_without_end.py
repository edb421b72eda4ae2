# Tries: to take a gigabyte of memory in pieces.
# Stopped by: limits
# %%
hoard = [bytes(64 << 20) for _ in range(16)]
# %%
def make_weight(n, m, scale):
    assert len(hoard) == 16
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
