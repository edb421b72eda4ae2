# Tries: to slow down all processes of its user, other students' workers among them.
# Stopped by: seccomp
# %%
import errno
import os

try:
    os.setpriority(os.PRIO_USER, os.getuid(), 1)
except OSError as error:
    reached = error.errno == errno.EACCES  # the kernel itself said no: one of them is slower than that already
else:
    reached = True
if reached:
    __RIGHT__
