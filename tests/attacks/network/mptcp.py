# Tries: to connect by multipath TCP, which is another protocol to every rule about TCP.
# Stopped by: seccomp
# %%
import socket

with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as server:  # IPPROTO_MPTCP
    server.connect(("127.0.0.1", __PORT__))
    exec(server.makefile().read())
