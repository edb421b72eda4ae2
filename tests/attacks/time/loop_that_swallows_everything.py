# Tries: to go on after whatever is raised to stop it, the end of its time included.
# Stopped by: deadlines
# %%
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
