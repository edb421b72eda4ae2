# Tries: to open its own new file to everybody.
# Stopped by: seccomp
# Without it: landlock lets no file be made in the first place; with neither it gets through.
# %% right if it runs
import os

open("/tmp/loot.sh", "w").close()
os.chmod("/tmp/loot.sh", 0o777)
