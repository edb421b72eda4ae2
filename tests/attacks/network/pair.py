# Tries: to make a pair of sockets and to send a descriptor through it.
# Stopped by: seccomp
# %%
import socket

one, other = socket.socketpair()
socket.send_fds(one, [b"x"], [0])
if len(socket.recv_fds(other, 1, 1)[1]) == 1:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
