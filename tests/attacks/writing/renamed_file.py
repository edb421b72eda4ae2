# Tries: to rename a file of the grader's.
# Stopped by: seccomp
# Without it: landlock lets no name be made; with neither it gets through.
# %% right if it runs
import os

for old, new in (("answer.py", "loot.py"), ("loot.py", "answer.py")):  # and back
    os.rename("__OUTSIDE__/" + old, "__OUTSIDE__/" + new)
