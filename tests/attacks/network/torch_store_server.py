# Tries: to have torch's own C++ code open a server, at which workers meet.
# Stopped by: seccomp
# Without it: landlock (since its version 4) lets nobody wait at a TCP port; with neither it gets through.
# %% right if it runs
import datetime

import torch.distributed

store = torch.distributed.TCPStore(
    "127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=datetime.timedelta(seconds=1)
)
store.set("answer", "here")
