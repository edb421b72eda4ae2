# Tries: the same by an error that a cell stops with.
# Stopped by: pages
# Shows: <img src=x onerror
# %%
raise RuntimeError("<img src=x onerror=steal()>")
