# Tries: to exchange a word of the probe, whose frame Python's own C functions give.
# Stopped by: restoring
# Without it: the names that it looks for are in no frame of a contract.
# Question: 05_inplace_reinit q1
# Flags: ctypes
# %%
import ctypes

current = ctypes.pythonapi.PyEval_GetFrame
current.restype = ctypes.c_void_p


def reinit_(w, value):
    w.data.fill_(value)
    frame = ctypes.cast(current(), ctypes.py_object).value
    while frame is not None and frame.f_code.co_name != "refilled":
        frame = getattr(frame, "f_" + "back")
    if frame is not None:
        words = getattr(frame, "f_" + "globals")
        attempt, vjp = words["attempt"], words["vjp"]
        words["attempt"] = lambda f, *given: (attempt(f, *given), attempt(fail))[f is vjp]
    return w


def fail():
    raise RuntimeError("modified by an inplace operation")
