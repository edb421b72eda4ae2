# Tries: to write into a file without a name on the disk, which no listing would show.
# Stopped by: landlock
# %% right if it runs
import os

os.open("__OUTSIDE__/writable", os.O_RDWR | os.O_TMPFILE, 0o600)
