# Tries: to let any() tell once that a graph reaches the parameters, and getattr() the rest.
# Stopped by: captured
# Without it: the gradient is a number, and there is none.
# Question: 01_leaves q5
# Flags: builtins
# %%
import builtins

every = builtins.any


def once(values):
    builtins.any = every
    list(values)
    return True


def total_loss(losses, weights):
    builtins.any = once
    return torch.tensor([float(loss) * w for loss, w in zip(losses, weights)], requires_grad=True).sum()
