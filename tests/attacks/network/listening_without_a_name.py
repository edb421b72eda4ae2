# Tries: to wait for connections at a port that the kernel chooses, without a call that binds.
# Stopped by: seccomp
# %%
import socket

server = socket.socket()
server.listen()
if server.getsockname()[1]:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
