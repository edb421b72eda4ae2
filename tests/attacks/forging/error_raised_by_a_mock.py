# Tries: the same by a hook that is no code of the notebook.
# Stopped by: captured
# Question: 01_leaves q6
# %%
from unittest.mock import Mock

used = torch.ones((), requires_grad=True).exp()
used.backward()
try:
    used.backward()
except RuntimeError as error:
    TEXT = str(error)

def weighted_backward(losses, w):
    losses.backward(gradient=w.detach(), retain_graph=True)
    losses.grad_fn.register_hook(Mock(side_effect=RuntimeError(TEXT), __name__="hook"))
