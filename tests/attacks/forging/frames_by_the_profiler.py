# Tries: the same by Python's profiler, which is shown the frame of every call.
# Stopped by: captured
# Without it: the loss is reached, but `w._version` shows that the write was hidden.
# Question: 05_inplace_reinit q1
# Flags: settrace
# %%
import profile

BACK, LOCALS = "kcab_f"[::-1], "slacol_f"[::-1]
TEXT = "one of the variables needed for gradient computation has been modified by an inplace operation: it was"

def refuses(gradient):
    raise RuntimeError(TEXT)

class Profiler(profile.Profile):
    def trace_dispatch_i(self, frame, event, argument):
        while frame is not None:
            for loss, _ in getattr(frame, LOCALS).get("waiting", {}).values():
                if not loss._backward_hooks:
                    loss.register_hook(refuses)
            frame = getattr(frame, BACK)

def reinit_(w, value):
    w.data.fill_(value)
    Profiler().runcall(len, "")
    return w
