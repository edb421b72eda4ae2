# Tries: to use up the descriptors of the machine by opening thousands.
# Stopped by: limits
# %%
opened = []
while len(opened) < 500:
    opened.append(open("/dev/null"))
# %%
def make_weight(n, m, scale):
    assert len(opened) == 500
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
