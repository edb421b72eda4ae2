# Tries: to use up the descriptors of the machine by opening thousands.
# Stopped by: limits
# %% right if it runs
opened = []
while len(opened) < 500:
    opened.append(open("/dev/null"))
