# Tries: to stay below the limit of a cell in every cell, of which there are many.
# Stopped by: deadlines
# Keeps: none
# Cost: slow
# Times: 40
# %%
import time

time.sleep(0.9)
