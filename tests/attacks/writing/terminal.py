# Tries: to print onto the terminal of whoever grades.
# Stopped by: landlock
# Without it: terminal and log belong to another user; with neither it gets through.
# %% right if it runs
import contextlib
import glob
import os

written = 0
for path in ("/dev/tty", "/dev/console", "/dev/kmsg", *glob.glob("/dev/pts/[0-9]*")):
    with contextlib.suppress(OSError):
        written += os.open(path, os.O_WRONLY | os.O_NOCTTY) > 0
assert written
