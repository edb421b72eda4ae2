# Tries: to talk for ever, so that whoever listens never looks at the clock.
# Stopped by: deadlines
# Cost: slow
# %%
def make_weight(n, m, scale):
    while True:
        print("still thinking")
