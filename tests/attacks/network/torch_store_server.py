# Tries: to have torch's own C++ code open a server, at which workers meet.
# Stopped by: seccomp
# Without it: landlock (since its version 4) lets nobody wait at a TCP port; with neither it gets through.
# %%
import datetime

import torch.distributed

try:
    store = torch.distributed.TCPStore(
        "127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=datetime.timedelta(seconds=1)
    )
    store.set("answer", "here")
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
