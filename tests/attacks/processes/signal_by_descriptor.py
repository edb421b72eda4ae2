# Tries: to kill another process through a descriptor of it.
# Stopped by: seccomp
# Without it: landlock's scope ends at this process, and the other is another user's; with all three away it
#   gets through.
# %% right if it runs
import os
import signal

signal.pidfd_send_signal(os.pidfd_open(__NEIGHBOUR__), signal.SIGKILL)
