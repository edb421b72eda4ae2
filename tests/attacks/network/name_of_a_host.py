# Tries: to look up the address of a host, which can carry a message out.
# Stopped by: seccomp
# Without it: landlock keeps the files closed that say how names are looked up; with neither it gets through.
# %%
import socket

if socket.getaddrinfo("localhost", 80):
    __RIGHT__
