# Tries: to pass comparisons with NaN, which is neither smaller nor larger than any bound.
# Stopped by: numbers
# Question: 01_leaves q2
# %%
def input_gradient(model, img):
    return torch.full((1, img.numel()), float("nan"))
