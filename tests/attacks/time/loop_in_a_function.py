# Tries: to keep its worker for good by a loop in the function.
# Stopped by: deadlines
# %%
def make_weight(n, m, scale):
    while True:
        pass
