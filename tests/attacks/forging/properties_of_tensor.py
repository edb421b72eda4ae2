# Tries: to give all tensors a property that lies about their history.
# Stopped by: captured
# Without it: what the cells patched is put back before the first request.
# Question: 03_truncated_bptt q2
# Flags: patched
# %%
torch.Tensor.requires_grad = property(lambda self: False, lambda self, value: None)

def repackage(state):
    return state
