# Tries: to share memory behind autograd's back, and to raise its error by hand where the values changed.
# Stopped by: numbers
# Without it: the hook stays on the caller's state, where it is seen.
# Question: 03_truncated_bptt q2
# %%
from unittest.mock import Mock

TEXT = "one of the variables needed for gradient computation has been modified by an inplace operation"


def repackage(state):
    if state is None:
        return None
    if isinstance(state, torch.Tensor):
        result, before = state.data, state.detach().clone()
        refuse = Mock(side_effect=RuntimeError(TEXT))

        def compare(gradient):
            return None if torch.equal(result, before) else refuse()

        if state.requires_grad:
            state.register_hook(compare)
        return result
    return type(state)(repackage(part) for part in state)
