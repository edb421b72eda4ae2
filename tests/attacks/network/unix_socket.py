# Tries: to fetch the answer through a socket that lies in a folder.
# Stopped by: seccomp
# %%
import socket

with socket.socket(socket.AF_UNIX) as server:
    server.connect("__OUTSIDE__/answers.sock")
    exec(server.makefile().read())
