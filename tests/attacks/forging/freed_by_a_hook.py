# Tries: to keep the graph, and to raise the error of a freed graph by hand from a hook on its node, where none is seen.
# Stopped by: captured
# Question: 01_leaves q6
# %%
used = torch.ones((), requires_grad=True).exp()
used.backward()
try:
    used.backward()
except RuntimeError as error:
    TEXT = str(error)

def refuse(*gradients):
    raise RuntimeError(TEXT)

def weighted_backward(losses, w):
    losses.backward(gradient=w.detach(), retain_graph=True)
    losses.grad_fn.register_hook(refuse)
