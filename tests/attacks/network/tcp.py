# Tries: to fetch the answer from a server on this machine.
# Stopped by: seccomp
# Without it: landlock (since its version 4) lets nobody connect by TCP; with neither it gets through.
# %%
import socket

with socket.create_connection(("127.0.0.1", __PORT__)) as server:
    exec(server.makefile().read())
