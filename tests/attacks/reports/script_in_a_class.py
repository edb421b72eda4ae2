# Tries: to run a script by the name of a class, which a message says where a tensor was expected.
# Stopped by: pages
# Shows: <svg onload
# %%
def make_weight(shape, scale=0.1, seed=0):
    return type("<svg onload=steal()>", (), {})()
