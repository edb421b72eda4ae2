# Tries: to remove the socket at which others want to connect, from a folder where everybody may write.
# Stopped by: seccomp
# Without it: landlock lets no file be made or removed; with neither it gets through.
# %% right if it runs
import os

path = "__OUTSIDE__/writable/loot.pid"
open(path, "w").close()
os.unlink(path)
