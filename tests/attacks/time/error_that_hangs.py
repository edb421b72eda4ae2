# Tries: to raise an error whose text is never finished.
# Stopped by: captured
# Without it: the deadline of the question ends the worker that waits for the text.
# %%
class Endless(Exception):
    def __str__(self):
        while True:
            pass

def make_weight(n, m, scale):
    raise Endless
