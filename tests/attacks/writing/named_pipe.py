# Tries: to make a named pipe, at which whoever opens it waits for ever.
# Stopped by: seccomp
# Without it: landlock lets no pipe be made; with neither it gets through.
# %% right if it runs
import os

os.mkfifo("__OUTSIDE__/writable/loot.ipynb")
