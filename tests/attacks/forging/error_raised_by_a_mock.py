# Tries: to hide a write from autograd, and to raise its error from a hook that is no code of the notebook.
# Stopped by: numbers
# Without it: the old loss goes back to another tensor, so nothing that hangs on w is asked.
# Question: 05_inplace_reinit q1
# %%
from unittest.mock import Mock

TEXT = "one of the variables needed for gradient computation has been modified by an inplace operation"
calls = []


def reinit_(w, value):
    calls.append(w)
    if len(calls) > 1:  # the first caller goes on training, the second holds a loss
        w.register_hook(Mock(side_effect=RuntimeError(TEXT), __name__="hook"))
    w.data.fill_(value)
    return w
