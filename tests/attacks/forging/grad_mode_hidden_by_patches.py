# Tries: to leave gradients switched off, behind patches that lie once and then heal.
# Stopped by: restoring
# Without it: the modes around a call are read by functions that were captured before.
# Question: 05_inplace_reinit q1
# Flags: patched
# %%
is_on, product = torch.is_grad_enabled, torch.Tensor.__mul__


def lies():
    torch.is_grad_enabled = is_on
    return True


def heals(self, other):
    torch.Tensor.__mul__ = product
    torch.Tensor.__rmul__ = product
    torch.set_grad_enabled(True)
    return product(self, other)


def reinit_(w, value):
    torch.set_grad_enabled(False)
    w.fill_(value)
    torch.is_grad_enabled = lies
    torch.Tensor.__mul__ = heals
    return w
