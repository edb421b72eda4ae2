# Tries: to cut off a file of the grader's by its path, without opening it.
# Stopped by: seccomp
# Without it: landlock forbids truncating too (since its version 3); with neither it gets through.
# %% right if it runs
import os

path = "__OUTSIDE__/answer.py"
os.truncate(path, os.stat(path).st_size)  # to the length it has: the right to do so is what counts
