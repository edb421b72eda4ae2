# Tries: the same by what lets pandas.eval know the names of whoever calls it.
# Stopped by: captured
# Without it: the words of a check file are opaque before the layer is taken away.
# Question: 05_inplace_reinit q1
# Flags: frames
# %%
import pandas  # in a cell of its own, because each has a second
# %%
from pandas.core.computation.scope import ensure_scope

TEXT = "one of the variables needed for gradient computation has been modified by an inplace operation: it was"

def refuses(gradient):
    raise RuntimeError(TEXT)

def reinit_(w, value):
    w.data.fill_(value)
    for level in range(1, 6):
        for loss, _ in ensure_scope(level=level).scope.get("waiting", {}).values():
            loss.register_hook(refuses)
    return w
