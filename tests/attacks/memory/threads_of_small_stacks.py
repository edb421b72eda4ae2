# Tries: to fill the table of processes with threads that take hardly any memory, past the limit, which binds nobody who is root.
# Stopped by: user
# %% right if it runs
import resource
import threading
import time

limit, _ = resource.getrlimit(resource.RLIMIT_NPROC)
threading.stack_size(64 << 10)
bell = threading.Event()
started = 0
end = time.monotonic() + 0.7
while started < 400 and time.monotonic() < end:
    threading.Thread(target=bell.wait, daemon=True).start()
    started += 1
assert started > limit
