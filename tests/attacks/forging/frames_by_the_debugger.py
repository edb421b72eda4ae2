# Tries: the same by Python's debugger, which is shown the frame of every line.
# Stopped by: captured
# Without it: the names that it looks for are in no frame of a contract.
# Question: 05_inplace_reinit q1
# Flags: frames, settrace
# %%
import bdb

LOCALS = "slacol_f"[::-1]


def refuses(gradient):
    raise RuntimeError("modified by an inplace operation")


class Debugger(bdb.Bdb):
    def user_line(self, frame):
        frames, _ = self.get_stack(frame, None)
        for seen, _ in frames:
            loss = getattr(seen, LOCALS).get("loss")
            if isinstance(loss, torch.Tensor):
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
