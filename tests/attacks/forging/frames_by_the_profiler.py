# Tries: the same by Python's profiler, which is shown the frame of every call.
# Stopped by: captured
# Without it: the names that it looks for are in no frame of a contract.
# Question: 05_inplace_reinit q1
# Flags: settrace
# %%
import profile

BACK, LOCALS = "kcab_f"[::-1], "slacol_f"[::-1]


def refuses(gradient):
    raise RuntimeError("modified by an inplace operation")


class Profiler(profile.Profile):
    def trace_dispatch_i(self, frame, event, argument):
        while frame is not None:
            loss = getattr(frame, LOCALS).get("loss")
            if isinstance(loss, torch.Tensor) and not loss._backward_hooks:
                loss.register_hook(refuses)
            frame = getattr(frame, BACK)


def reinit_(w, value):
    w.data.fill_(value)
    Profiler().runcall(len, "")
    return w
