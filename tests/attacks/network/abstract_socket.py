# Tries: to wait for the next student at a Unix socket that lies in no folder.
# Stopped by: seccomp
# %% right if it runs
import socket

mailbox = socket.socket(socket.AF_UNIX)
mailbox.bind("\0loot")
mailbox.listen()
