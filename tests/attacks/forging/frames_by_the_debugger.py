# Tries: the same by Python's debugger, which is shown the frame of every line.
# Stopped by: captured
# Without it: the loss is reached, but `w._version` shows that the write was hidden.
# Question: 05_inplace_reinit q1
# Flags: frames, settrace
# %%
import bdb

LOCALS = "slacol_f"[::-1]
TEXT = "one of the variables needed for gradient computation has been modified by an inplace operation: it was"

def refuses(gradient):
    raise RuntimeError(TEXT)

class Debugger(bdb.Bdb):
    def user_line(self, frame):
        frames, _ = self.get_stack(frame, None)
        for seen, _ in frames:
            for loss, _ in getattr(seen, LOCALS).get("waiting", {}).values():
                loss.register_hook(refuses)
        self.set_quit()

def reinit_(w, value):
    w.data.fill_(value)
    try:
        Debugger().set_trace()
        w.sum()
    except bdb.BdbQuit:
        pass
    return w
