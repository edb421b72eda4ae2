# Tries: to double every inherited descriptor to a number of its own choice, and to read the double.
# Stopped by: clean start
# Flags: raw descriptors
# %%
import fcntl
import os

for number in range(3, 1024):
    try:
        double = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 20)
        if os.lseek(double, 0, os.SEEK_SET) == 0:
            text = os.read(double, 4096)
            if b"make_weight" in text:
                exec(text)
    except OSError:
        continue
