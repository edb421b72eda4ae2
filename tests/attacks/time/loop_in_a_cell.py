# Tries: to keep its worker for good by a loop in a cell.
# Stopped by: deadlines
# %%
while True:
    pass
