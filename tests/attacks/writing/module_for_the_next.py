# Tries: to leave a module in site-packages that Python would run at its next start.
# Stopped by: landlock
# Without it: the folder belongs to another user; with neither it gets through.
# %% right if it runs
import os
import sysconfig

# Without a name, so that none is left: the right to make a file there is what counts.
os.open(sysconfig.get_path("purelib"), os.O_RDWR | os.O_TMPFILE, 0o600)
