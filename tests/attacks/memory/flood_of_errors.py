# Tries: to drown whoever collects standard error, by one line that never ends.
# Stopped by: wire
# %%
import sys

piece = "drop " * 200_000
for _ in range(300):
    sys.stderr.write(piece)
