# Tries: to share memory with the caller, and to let a patched zero_() do nothing from then on.
# Stopped by: restoring
# Question: 03_truncated_bptt q2
# Flags: patched
# %%
def does_nothing(self):
    return self

def repackage(state):
    torch.Tensor.zero_ = does_nothing
    if isinstance(state, torch.Tensor):
        return state.data
    return None if state is None else type(state)(repackage(part) for part in state)
