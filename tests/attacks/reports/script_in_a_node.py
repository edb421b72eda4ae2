# Tries: to run a script by the name of an autograd node, which a message tells of a tensor that is no leaf.
# Stopped by: pages
# Shows: <b onclick
# %%
class Node(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g

Named = type("<b onclick=steal()>", (Node,), {})

def make_weight(shape, scale=0.1, seed=0):
    return Named.apply(torch.randn(shape, requires_grad=True) * scale)
