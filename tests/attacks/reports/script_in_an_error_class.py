# Tries: to run a script by the name of an exception's class.
# Stopped by: pages
# Shows: <iframe src
# %%
Hidden = type("<iframe src=//evil>", (Exception,), {})

def make_weight(shape, scale=0.1, seed=0):
    raise Hidden
