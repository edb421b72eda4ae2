# Tries: to wait in a thread until the function has returned, and to patch a write for the worker's next step.
# Stopped by: restoring
# Without it: a thread that still waits is told as a change of what a call may not change.
# Question: 03_truncated_bptt q2
# Flags: threads, patched
# %%
import threading
import time


def does_nothing(self):
    return self


def wait():
    time.sleep(0.05)  # longer than the function takes, also on a busy machine
    torch.Tensor.zero_ = does_nothing


def repackage(state):
    threading.Thread(target=wait).start()
    if isinstance(state, torch.Tensor):
        return state.data
    return None if state is None else type(state)(repackage(part) for part in state)
