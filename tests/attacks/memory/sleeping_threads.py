# Tries: to fill the table of processes with threads that sleep.
# Stopped by: limits
# %% right if it runs
import threading

bell = threading.Event()
for _ in range(250):
    threading.Thread(target=bell.wait, daemon=True).start()
