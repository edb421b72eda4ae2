# Tries: to put another descriptor in the place of the pipe of notices.
# Stopped by: restoring
# Question: 03_truncated_bptt q2
# Flags: frames
# %%
import os
import sys

import fcntl

try:
    os.close(12)
    fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 12)
except OSError as error:
    print(error)

__EXCHANGE_A_WORD_UNSEEN__
