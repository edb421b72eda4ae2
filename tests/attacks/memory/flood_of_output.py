# Tries: to drown whoever collects what is printed.
# Stopped by: wire
# %%
piece = "drop " * 200_000
for _ in range(300):
    print(piece)
