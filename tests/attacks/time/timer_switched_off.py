# Tries: to switch off the timer that would stop its cell.
# Stopped by: deadlines
# %%
import signal

signal.setitimer(signal.ITIMER_REAL, 0)
while True:
    pass
