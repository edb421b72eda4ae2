# Tries: the same, in words that no search of the text finds.
# Stopped by: restoring
# Without it: the names that it looks for are in no frame of a contract.
# Question: 05_inplace_reinit q1
# Flags: frames
# %%
import sys


def reinit_(w, value):
    w.data.fill_(value)
    probe = getattr(sys, "_get" + "frame")(2)
    if getattr(probe, "f_" + "code").co_name == "refilled":
        words = getattr(probe, "f_" + "globals")
        attempt, vjp = words["attempt"], words["vjp"]
        words["attempt"] = lambda f, *given: (attempt(f, *given), attempt(fail))[f is vjp]
    return w


def fail():
    raise RuntimeError("modified by an inplace operation")
