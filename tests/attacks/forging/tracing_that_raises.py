# Tries: to trace the worker and to raise autograd's error in the middle of it.
# Stopped by: restoring
# Without it: the checks assert `_version`, and that tracing is off after the call.
# Question: 05_inplace_reinit q1
# Flags: settrace
# %%
import sys

TEXT = "one of the variables needed for gradient computation has been modified by an inplace operation: it was"

def tracer(frame, event, argument):
    if frame.f_code.co_name == "_asked":
        raise RuntimeError(TEXT)  # which ends the tracing, too
    return tracer

def reinit_(w, value):
    w.data.fill_(value)
    sys.settrace(tracer)
    return w
