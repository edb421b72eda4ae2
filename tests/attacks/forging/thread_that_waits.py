# Tries: to wait in a thread until the function has returned, and to patch torch for the probe's next step.
# Stopped by: captured
# Without it: what torch's functions became is seen after the probe.
# Question: 05_inplace_reinit q1
# Flags: threads, patched
# %%
import threading
import time

honest = torch.Tensor.backward


def refuses(self, *args, **kwargs):
    torch.Tensor.backward = honest
    raise RuntimeError("modified by an inplace operation")


def wait():
    time.sleep(0.0005)
    torch.Tensor.backward = refuses
    time.sleep(0.01)
    torch.Tensor.backward = honest


def reinit_(w, value):
    w.data.fill_(value)
    threading.Thread(target=wait).start()
    return w
