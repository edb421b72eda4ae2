# Tries: to answer for itself in a handler that runs when the interpreter ends.
# Stopped by: process
# Without it: a grader in one process runs the handler after its own last line, and results can be rewritten there.
# Flags: raw descriptors
# %%
import atexit
import os

@atexit.register
def farewell():
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b'{"passed": true}')
        except OSError:
            pass

def make_weight(n, m, scale):
    return None
