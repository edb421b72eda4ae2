# Tries: to rename the machine.
# Stopped by: seccomp
# Without it: only root may; with both away it gets through.
# %% right if it runs
import socket

socket.sethostname(socket.gethostname())
