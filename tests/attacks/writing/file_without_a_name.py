# Tries: to write into a file without a name on the disk, which no listing would show.
# Stopped by: landlock
# %%
import os

hidden = os.open("__OUTSIDE__/writable", os.O_RDWR | os.O_TMPFILE, 0o600)
# %%
if hidden >= 0:
    __RIGHT__
