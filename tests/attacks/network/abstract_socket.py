# Tries: to wait for the next student at a Unix socket that lies in no folder.
# Stopped by: seccomp
# %%
import socket

try:
    mailbox = socket.socket(socket.AF_UNIX)
    mailbox.bind("\0loot")
    mailbox.listen()
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
