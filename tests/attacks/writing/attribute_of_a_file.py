# Tries: to leave a message in an extended attribute, where neither content nor time of the file tells of it.
# Stopped by: seccomp
# %% right if it runs
import os

os.setxattr("__OUTSIDE__/answer.py", "user.loot", b"message")
os.removexattr("__OUTSIDE__/answer.py", "user.loot")
