# Tries: to cut off a file by opening it for reading only, with the flag that empties it.
# Stopped by: landlock
# %% right if it runs
import os

open("/tmp/loot.txt", "w").close()
os.open("/tmp/loot.txt", os.O_RDONLY | os.O_TRUNC)
