# Tries: to make a pair of sockets and to send a descriptor through it.
# Stopped by: seccomp
# %%
import socket

one, other = socket.socketpair()
socket.send_fds(one, [b"x"], [0])
if len(socket.recv_fds(other, 1, 1)[1]) == 1:
    __RIGHT__
