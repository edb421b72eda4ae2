# Tries: to exchange a word of the question's functions for one that does nothing, found through their frame.
# Stopped by: restoring
# Question: 03_truncated_bptt q2
# Flags: frames
# %%
import sys


def repackage(state):
    frame = sys._getframe(1)
    while frame is not None and "vjp" not in frame.f_globals:
        frame = frame.f_back
    if frame is not None:
        frame.f_globals["attempt"] = lambda *_: None
    if isinstance(state, torch.Tensor):
        return state.data
    return None if state is None else type(state)(repackage(part) for part in state)
