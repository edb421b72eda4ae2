# Tries: to find the loss that waits by Python's debugger, which is shown the frame of every line.
# Stopped by: captured
# Without it: the loss is reached, but `w._version` shows that the write was hidden.
# Question: 05_inplace_reinit q1
# Flags: frames, settrace
# %%
import bdb

__HOOK_WHAT_WAITS__
class Debugger(bdb.Bdb):
    def user_line(self, frame):
        hook_what_waits(frame)
        self.set_quit()

def reinit_(w, value):
    w.data.fill_(value)
    try:
        Debugger().set_trace()
        w.sum()
    except bdb.BdbQuit:
        pass
    return w
