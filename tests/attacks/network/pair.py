# Tries: to make a pair of sockets and to send a descriptor through it.
# Stopped by: seccomp
# %% right if it runs
import socket

one, other = socket.socketpair()
socket.send_fds(one, [b"x"], [0])
