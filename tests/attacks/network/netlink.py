# Tries: to ask the kernel for the addresses of this machine.
# Stopped by: seccomp
# %% right if it runs
import socket

kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
kernel.bind((0, 0))
