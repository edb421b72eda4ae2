# Tries: to take the processors from everybody by 120 threads that never rest.
# Stopped by: process
# Without it: a grader in one process shares its interpreter with these threads for the rest of the class.
# Cost: slow
# %%
import threading

def spin():
    while True:
        pass

def make_weight(n, m, scale):
    for _ in range(120):
        try:
            threading.Thread(target=spin, daemon=True).start()
        except RuntimeError:
            break
