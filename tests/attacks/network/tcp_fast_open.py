# Tries: to connect by sending: TCP Fast Open needs no call that connects.
# Stopped by: seccomp
# %%
import socket

with socket.socket() as server:
    server.sendto(b"", socket.MSG_FASTOPEN, ("127.0.0.1", __PORT__))
    exec(server.makefile().read())
