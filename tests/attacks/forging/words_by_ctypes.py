# Tries: to exchange a word of the probe, whose frame Python's own C functions give.
# Stopped by: process
# Without it: the assertion itself could be found in the same way.
# Got through: C functions give whatever lies in the process, and the names of attributes can be put together.
# Question: 05_inplace_reinit q1
# Flags: ctypes
# %%
import ctypes

current = ctypes.pythonapi.PyEval_GetFrame
current.restype = ctypes.c_void_p


def reinit_(w, value):
    w.data.fill_(value)
    frame = ctypes.cast(current(), ctypes.py_object).value
    while frame is not None and frame.f_code.co_name != "stale_loss":
        frame = getattr(frame, "f_" + "back")
    if frame is not None:
        words = getattr(frame, "f_" + "globals")
        attempt = words["attempt"]
        words["attempt"] = lambda *_: attempt(fail)
    return w


def fail():
    raise RuntimeError("modified by an inplace operation")
