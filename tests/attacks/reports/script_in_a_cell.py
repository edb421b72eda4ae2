# Tries: to run a script by an error that a cell stops with.
# Stopped by: pages
# Shows: <img src=x onerror
# %%
raise RuntimeError("<img src=x onerror=steal()>")
