# Tries: to lay a link where the grader writes, so that it would write to another place.
# Stopped by: seccomp
# Without it: landlock lets no link be made; with neither it gets through.
# %% right if it runs
import os

os.symlink("/root/.profile", "__OUTSIDE__/writable/loot.json")
