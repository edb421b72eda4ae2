# Tries: to wait for connections at a port that the kernel chooses, without a call that binds.
# Stopped by: seccomp
# %%
import socket

server = socket.socket()
server.listen()
if server.getsockname()[1]:
    __RIGHT__
