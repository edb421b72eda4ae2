# Tries: to have sqlite's C code write a database.
# Stopped by: landlock
# %%
import contextlib
import os
import sqlite3

with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect("/tmp/loot.db")) as database:
    database.execute("create table answers (text)")
# %%
if os.path.exists("/tmp/loot.db"):

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
