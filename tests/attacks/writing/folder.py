# Tries: to make a folder.
# Stopped by: seccomp
# Without it: landlock lets no folder be made; with neither it gets through.
# %% right if it runs
import os

os.mkdir("__OUTSIDE__/writable/loot")
os.rmdir("__OUTSIDE__/writable/loot")
