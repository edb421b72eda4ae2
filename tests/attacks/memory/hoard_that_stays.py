# Tries: to leave no memory for the other questions of the notebook.
# Stopped by: fresh worker
# %%
hoard = []

def make_weight(n, m, scale):
    size = 64 << 20
    while size > 1024:
        try:
            hoard.append(bytearray(size))
        except MemoryError:
            size //= 2
