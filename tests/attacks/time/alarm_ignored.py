# Tries: to ignore the signal that would stop its cell.
# Stopped by: deadlines
# Cost: slow
# %%
import signal

signal.signal(signal.SIGALRM, signal.SIG_IGN)
while True:
    pass
