# Tries: to trace the probe and to raise autograd's error in the middle of it.
# Stopped by: restoring
# Without it: another check of the question tells that tracing was left on.
# Question: 05_inplace_reinit q1
# Flags: settrace
# %%
import sys


def tracer(frame, event, argument):
    if frame.f_code.co_name == "vjp":
        raise RuntimeError("modified by an inplace operation")  # which ends the tracing, too
    return tracer


def reinit_(w, value):
    w.data.fill_(value)
    sys.settrace(tracer)
    return w
