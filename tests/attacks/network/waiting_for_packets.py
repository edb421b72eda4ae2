# Tries: to wait at a UDP port for whatever comes.
# Stopped by: seccomp
# %% right if it runs
import socket

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
