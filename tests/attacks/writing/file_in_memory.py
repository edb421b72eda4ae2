# Tries: to make a file that lies in memory alone, outside of every folder and of the limit on memory.
# Stopped by: seccomp
# %% right if it runs
import os

os.memfd_create("loot")
