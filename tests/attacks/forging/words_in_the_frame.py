# Tries: to exchange a word of the probe for one that raises, found through the probe's frame.
# Stopped by: restoring
# Without it: the names that it looks for are in no frame of a contract.
# Question: 05_inplace_reinit q1
# Flags: frames
# %%
import sys


def reinit_(w, value):
    w.data.fill_(value)
    probe = sys._getframe(2)
    if probe.f_code.co_name == "refilled":
        attempt, vjp = probe.f_globals["attempt"], probe.f_globals["vjp"]
        probe.f_globals["attempt"] = lambda f, *given: (attempt(f, *given), attempt(fail))[f is vjp]
    return w


def fail():
    raise RuntimeError("modified by an inplace operation")
