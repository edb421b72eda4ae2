# Tries: to have KeyboardInterrupt rise in the worker's own code, between two questions.
# Stopped by: fresh worker
# Without it: not tried, because what an interrupt meets depends on the moment.
# %%
import _thread
import threading
import time

def interrupt_again_and_again():
    while True:
        _thread.interrupt_main()
        time.sleep(0.001)

def make_weight(n, m, scale):
    threading.Thread(target=interrupt_again_and_again, daemon=True).start()
