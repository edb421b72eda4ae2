# Tries: to reach the host of a virtual machine past every network.
# Stopped by: seccomp
# %% right if it runs
import socket

host = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
