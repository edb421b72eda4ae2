# Tries: to leave a folder that may be read by climbing up from its descriptor.
# Stopped by: landlock
# %%
import os

folder = os.open("/usr/lib", os.O_RDONLY | os.O_DIRECTORY)
answer = os.open("../.." + "__OUTSIDE__/answer.py", os.O_RDONLY, dir_fd=folder)
exec(os.read(answer, 4096))
