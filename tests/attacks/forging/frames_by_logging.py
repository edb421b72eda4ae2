# Tries: to find the loss that waits by logging, which looks for its caller's frame by a function that the notebook exchanged.
# Stopped by: captured
# Without it: the loss is reached, but `w._version` shows that the write was hidden.
# Question: 05_inplace_reinit q1
# Flags: frames
# %%
import logging

__HOOK_WHAT_WAITS__
seen = []
vars(logging)["_is_internal_frame"] = seen.append

def reinit_(w, value):
    w.data.fill_(value)
    logging.warning("w is filled")
    hook_what_waits(seen.pop())
    return w
