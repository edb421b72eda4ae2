# Tries: to leave double precision and switched-off gradients behind for the request and for all that follow.
# Stopped by: restoring
# Question: 01_leaves q4
# %%
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)

def activation_grads(model, x, names):
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    return {name: torch.ones(()) for name in names}
