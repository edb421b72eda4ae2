# Tries: to make a file that lies in memory alone, outside of every folder and of the limit on memory.
# Stopped by: seccomp
# %%
import os

memory = os.memfd_create("loot")
# %%
if memory >= 0:
    __RIGHT__
