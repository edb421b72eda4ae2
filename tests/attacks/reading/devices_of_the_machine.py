# Tries: to read the disk below all files, the memory of the kernel, or its log.
# Stopped by: landlock
# Without it: only root may; with both away it gets through.
# Flags: raw descriptors
# %% right if it runs
import contextlib
import glob

size = 0
for path in (*glob.glob("/dev/[vsx]d[a-z]"), "/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore", "/dev/kmsg"):
    with contextlib.suppress(OSError), open(path, "rb", 0) as device:
        size += len(device.read(8192))
assert size
