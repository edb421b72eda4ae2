# Tries: to reach the zygote by a signal, here one that does no harm.
# Stopped by: seccomp
# Without it: landlock's scope ends at this process, and the zygote is another user's; with all three away it
#   gets through.
# Flags: leaving the process
# %% right if it runs
import os
import signal

os.kill(os.getppid(), signal.SIGCONT)
