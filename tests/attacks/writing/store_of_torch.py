# Tries: to have torch's own C++ code make a file through which processes exchange values.
# Stopped by: landlock
# %%
import datetime
import os

import torch.distributed

store = torch.distributed.FileStore("/tmp/loot.store", 2)
store.set_timeout(datetime.timedelta(seconds=0.2))
try:
    store.set("answer", "0")
finally:
    del store
# %%
if os.path.exists("/tmp/loot.store"):
    __RIGHT__
