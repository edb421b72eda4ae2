# Tries: to give a file of the grader's a second name, which outlives the first.
# Stopped by: seccomp
# Without it: landlock lets no name be made; with neither it gets through.
# %% right if it runs
import os

os.link("__OUTSIDE__/answer.py", "__OUTSIDE__/writable/loot.py")
os.unlink("__OUTSIDE__/writable/loot.py")
