# Tries: to find the loss that waits by an object of typing's that calls whatever it was made of, because typing counts as innocent.
# Stopped by: captured
# Without it: the loss is reached, but `w._version` shows that the write was hidden.
# Question: 05_inplace_reinit q1
# Flags: frames
# %%
import sys
import typing

BACK, LOCALS = "kcab_f"[::-1], "slacol_f"[::-1]
TEXT = "one of the variables needed for gradient computation has been modified by an inplace operation: it was"


def refuses(gradient):
    raise RuntimeError(TEXT)


def hook_what_waits(frame):
    while frame is not None:
        for loss, _ in getattr(frame, LOCALS).get("waiting", {}).values():
            loss.register_hook(refuses)
        frame = getattr(frame, BACK)


alias = typing._GenericAlias(sys._getframe, int)


def reinit_(w, value):
    w.data.fill_(value)
    hook_what_waits(alias())
    return w
