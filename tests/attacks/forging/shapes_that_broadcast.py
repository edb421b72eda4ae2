# Tries: to return one element, or none, where a comparison would broadcast it.
# Stopped by: numbers
# Without it: a check of its own compares the shapes of the gradients.
# Question: 01_leaves q3
# %%
def all_grads(a, b, d):
    empty = torch.zeros(0)
    return {"a": d.detach().sum(), "b": empty, "c": d.detach(), "d": empty, "e": torch.ones(1), "o": torch.ones(())}
