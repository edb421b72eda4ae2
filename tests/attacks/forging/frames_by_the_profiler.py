# Tries: the same by Python's profiler, which is shown the frame of every call.
# Stopped by: captured
# Without it: the loss is reached, but `w._version` shows that the write was hidden.
# Question: 05_inplace_reinit q1
# Flags: settrace
# %%
import profile

__HOOK_WHAT_WAITS__
class Profiler(profile.Profile):
    def trace_dispatch_i(self, frame, event, argument):
        hook_what_waits(frame)

def reinit_(w, value):
    w.data.fill_(value)
    Profiler().runcall(len, "")
    return w
