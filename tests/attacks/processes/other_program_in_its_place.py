# Tries: to put another program in the place of the worker.
# Stopped by: seccomp
# Without it: landlock lets no program be executed.
# %%
import os

os.execv("/bin/true", ["true"])
