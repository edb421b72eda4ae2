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
    __RIGHT__
