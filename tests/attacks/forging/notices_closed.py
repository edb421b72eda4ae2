# Tries: to close the pipe of notices, so that nobody is told of the frames it looks at.
# Stopped by: restoring
# Question: 03_truncated_bptt q2
# Flags: frames
# %%
import os
import sys

os.closerange(3, 64)

__EXCHANGE_A_WORD_UNSEEN__
