# Tries: to look up the address of a host, which can carry a message out.
# Stopped by: seccomp
# Without it: landlock keeps the files closed that say how names are looked up; with neither it gets through.
# %% right if it runs
import socket

socket.getaddrinfo("localhost", 80)
