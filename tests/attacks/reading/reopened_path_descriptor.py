# Tries: to hold the answer itself by an O_PATH descriptor and to turn that into one for reading.
# Stopped by: landlock
# Flags: raw descriptors
# %%
import os

handle = os.open("__OUTSIDE__/answer.py", os.O_PATH)
with open(f"/proc/self/fd/{handle}") as file:
    exec(file.read())
