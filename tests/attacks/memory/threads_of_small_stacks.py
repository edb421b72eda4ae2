# Tries: to fill the table of processes with threads that take hardly any memory, past the limit, which binds nobody who is root.
# Stopped by: user
# %%
import resource
import threading
import time

limit, _ = resource.getrlimit(resource.RLIMIT_NPROC)
threading.stack_size(64 << 10)
bell = threading.Event()
started = 0
end = time.monotonic() + 0.7
while started < 400 and time.monotonic() < end:
    threading.Thread(target=bell.wait, daemon=True).start()
    started += 1
# %%
def make_weight(n, m, scale):
    assert started > limit
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
