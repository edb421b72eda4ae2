# Tries: to trace the probe and to raise autograd's error in the middle of it.
# Stopped by: restoring
# Question: 05_inplace_reinit q1
# Flags: settrace
# %%
import sys

calls = []


def tracer(frame, event, argument):
    if frame.f_code.co_name == "vjp":
        raise RuntimeError("modified by an inplace operation")  # which ends the tracing, too
    return tracer


def reinit_(w, value):
    w.data.fill_(value)
    calls.append(w)
    if len(calls) > 1:
        sys.settrace(tracer)
    return w
