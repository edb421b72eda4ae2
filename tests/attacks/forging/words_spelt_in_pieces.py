# Tries: the same, in words that no search of the text finds.
# Stopped by: process
# Without it: the assertion itself could be found in the same way.
# Got through: a probe's words lie in the process of those whom they observe; but Python tells the worker of it.
# Question: 05_inplace_reinit q1
# Flags: frames
# %%
import sys


def reinit_(w, value):
    w.data.fill_(value)
    probe = getattr(sys, "_get" + "frame")(2)
    if getattr(probe, "f_" + "code").co_name == "stale_loss":
        words = getattr(probe, "f_" + "globals")
        attempt = words["attempt"]
        words["attempt"] = lambda *_: attempt(fail)
    return w


def fail():
    raise RuntimeError("modified by an inplace operation")
