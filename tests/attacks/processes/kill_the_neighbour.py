# Tries: to kill another process.
# Stopped by: seccomp
# Without it: landlock's scope ends at this process, and the other is another user's; with all three away it
#   gets through.
# Flags: leaving the process
# %% right if it runs
import os

os.kill(__NEIGHBOUR__, 9)
