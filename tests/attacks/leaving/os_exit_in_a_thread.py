# Tries: to end the process from a thread while the function waits.
# Stopped by: fresh worker
# Flags: leaving the process
# %%
import os
import threading
import time

def make_weight(n, m, scale):
    threading.Thread(target=os._exit, args=(0,)).start()
    time.sleep(60)
