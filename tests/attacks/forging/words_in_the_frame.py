# Tries: to exchange a word of the probe for one that raises, found through the probe's frame.
# Stopped by: process
# Without it: the assertion itself could be found in the same way.
# Got through: a probe's words lie in the process of those whom they observe.
# Question: 05_inplace_reinit q1
# Flags: frames
# %%
import sys


def reinit_(w, value):
    w.data.fill_(value)
    probe = sys._getframe(2)
    if probe.f_code.co_name == "stale_loss":
        attempt = probe.f_globals["attempt"]
        probe.f_globals["attempt"] = lambda *_: attempt(fail)
    return w


def fail():
    raise RuntimeError("modified by an inplace operation")
