# Tries: to exchange the code of Tensor.backward, which stays the same function.
# Stopped by: captured
# Without it: the code is compared with what it was, and put back.
# Question: 05_inplace_reinit q1
# Flags: code objects
# %%
def refuses(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    raise RuntimeError("modified by an inplace operation")


def reinit_(w, value):
    w.data.fill_(value)
    torch.Tensor.backward.__code__ = refuses.__code__
    return w
