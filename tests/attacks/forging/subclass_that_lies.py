# Tries: to return tensors of a class that says of itself to have no history.
# Stopped by: captured
# Question: 03_truncated_bptt q2
# %%
class Cut(torch.Tensor):
    requires_grad = property(lambda self: False)
    __torch_function__ = torch._C._disabled_torch_function_impl

def repackage(state):
    if isinstance(state, torch.Tensor):
        return state.as_subclass(Cut)
    return None if state is None else type(state)(repackage(part) for part in state)
