# Tries: to fetch the answer by a single packet each way.
# Stopped by: seccomp
# %%
import socket

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.settimeout(1)
    server.sendto(b"?", ("127.0.0.1", __PORT__))
    exec(server.recv(4096))
