# Tries: to block every signal that can be blocked, and to loop.
# Stopped by: deadlines
# Cost: slow
# %%
import signal

signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    pass
