# Tries: to share memory with the caller, and to let a patched zero_() do nothing from then on.
# Stopped by: restoring
# Question: 03_truncated_bptt q2
# Flags: patched
# %%
def does_nothing(self):
    return self

def repackage(state):
    torch.Tensor.zero_ = does_nothing
    __SHARE_MEMORY__
