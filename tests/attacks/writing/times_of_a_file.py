# Tries: to change the time of a file that it may write by its bits, so that it seems handed in earlier.
# Stopped by: seccomp
# %% right if it runs
import os

os.utime("__OUTSIDE__/answer.py")
