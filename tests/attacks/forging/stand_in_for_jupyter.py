# Tries: to switch the listener of audit events off, found behind the stand-ins for Jupyter, and to take frames.
# Stopped by: captured
# Without it: stand-ins are opaque before the layer is taken away, and frames are noticed as they are taken.
# Question: 03_truncated_bptt q2
# Flags: frames
# %%
import sys
import threading

for thing in (get_ipython, get_ipython().run_cell_magic, type(display).__call__, sys.modules["otter"].check):
    for part in (thing, getattr(thing, "__func__", None)):
        names = getattr(part, "__globals__", {})
        if "notice" in names:
            names["notice"].__globals__["_listening"].add(threading.get_ident())

def repackage(state):
    frame = sys._getframe(1)
    while frame is not None and "vjp" not in frame.f_globals:
        frame = frame.f_back
    if frame is not None:
        frame.f_globals["attempt"] = lambda *_: None
    __SHARE_MEMORY__
