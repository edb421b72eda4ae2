# Tries: to fill the pipe of notices with empty lines, so that nobody is told of the frames it looks at.
# Stopped by: restoring
# Question: 03_truncated_bptt q2
# Flags: raw descriptors
# %%
import os
import sys

write = getattr(os, "etirw"[::-1])
try:
    while True:
        write(12, b"\n" * 4096)
except BlockingIOError:
    pass

__EXCHANGE_A_WORD_UNSEEN__
