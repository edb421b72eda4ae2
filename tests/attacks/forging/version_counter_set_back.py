# Tries: to set the version counter back, so that backward() does not notice what was overwritten.
# Stopped by: numbers
# Question: 05_inplace_reinit q4
# Flags: version counter
# %%
def residual_block(x, w):
    h = torch.sigmoid(x @ w)
    version = h._version
    h += x
    h -= 0.5
    torch._C._autograd._unsafe_set_version_counter((h,), (version,))
    return torch.relu(h)
