# Tries: to wait for a lock that it holds itself.
# Stopped by: deadlines
# Cost: slow
# %%
import threading

lock = threading.Lock()

def make_weight(n, m, scale):
    while True:
        lock.acquire()
