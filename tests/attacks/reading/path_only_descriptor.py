# Tries: to hold the folder of the answer by an O_PATH descriptor, which asks no permission, and to open from there.
# Stopped by: landlock
# %%
import os

folder = os.open("__OUTSIDE__", os.O_PATH)
exec(os.read(os.open("answer.py", os.O_RDONLY, dir_fd=folder), 4096))
