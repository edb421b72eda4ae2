# Tries: to hide a write from autograd, and to let a patched backward() raise the error once and heal.
# Stopped by: captured
# Without it: the patch is seen and undone as soon as the function returns.
# Question: 05_inplace_reinit q1
# Flags: patched
# %%
honest = torch.Tensor.backward
calls = []


def refuses(self, *args, **kwargs):
    torch.Tensor.backward = honest
    raise RuntimeError("a variable needed for gradient computation has been modified by an inplace operation")


def reinit_(w, value):
    w.data.fill_(value)
    calls.append(w)
    if len(calls) > 1:  # the first caller goes on training, the second holds a loss
        torch.Tensor.backward = refuses
    return w
