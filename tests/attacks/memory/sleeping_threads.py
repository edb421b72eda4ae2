# Tries: to fill the table of processes with threads that sleep.
# Stopped by: limits
# %%
import threading

bell = threading.Event()
for _ in range(250):
    threading.Thread(target=bell.wait, daemon=True).start()
# %%
def make_weight(n, m, scale):
    assert threading.active_count() > 250
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
