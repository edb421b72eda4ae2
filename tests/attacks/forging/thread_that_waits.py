# Tries: to wait in a thread until the function has returned, and to patch a write for the worker's next step.
# Stopped by: restoring
# Without it: not tried, for the machine decides whether its thread still waits, which is told, or harms q5.
# Question: 03_truncated_bptt q2
# Flags: threads, patched
# %%
import threading
import time

def does_nothing(self):
    return self

def wait():
    time.sleep(0.0005)
    torch.Tensor.zero_ = does_nothing

def repackage(state):
    threading.Thread(target=wait).start()
    __SHARE_MEMORY__
