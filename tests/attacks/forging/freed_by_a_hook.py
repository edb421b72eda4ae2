# Tries: to keep the graph, and to raise the error of a freed graph by hand from a hook.
# Stopped by: captured
# Without it: the hook stays on the caller's losses, where it is seen.
# Question: 01_leaves q6
# %%
TEXT = "Trying to backward through the graph a second time"


def weighted_backward(losses, w):
    losses.backward(gradient=w.detach(), retain_graph=True)

    def refuse(gradient):
        raise RuntimeError(TEXT)

    losses.register_hook(refuse)
