# Tries: to hide a write from autograd, and to raise autograd's error by hand from a hook.
# Stopped by: numbers
# Without it: the old loss goes back to another tensor, so nothing that hangs on w is asked.
# Question: 05_inplace_reinit q1
# %%
TEXT = "one of the variables needed for gradient computation has been modified by an inplace operation"
calls = []


def reinit_(w, value):
    def refuse(gradient):
        raise RuntimeError(TEXT)

    calls.append(w)
    if len(calls) > 1:  # the first caller goes on training, the second holds a loss
        w.register_hook(refuse)
    w.data.fill_(value)
    return w
