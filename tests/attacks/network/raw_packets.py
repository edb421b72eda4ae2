# Tries: to write packets itself, with whatever sender it likes.
# Stopped by: seccomp
# Without it: only root may; with both away it gets through.
# %% right if it runs
import socket

raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
