# Tries: to exchange a word of the question's functions, found through their frame, in words that no search finds.
# Stopped by: restoring
# Question: 03_truncated_bptt q2
# Flags: frames
# %%
import sys

def repackage(state):
    frame = getattr(sys, "_get" + "frame")(1)
    while frame is not None and "vjp" not in getattr(frame, "f_" + "globals"):
        frame = getattr(frame, "f_" + "back")
    if frame is not None:
        getattr(frame, "f_" + "globals")["attempt"] = lambda *_: None
    __SHARE_MEMORY__
