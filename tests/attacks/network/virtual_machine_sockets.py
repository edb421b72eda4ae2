# Tries: to reach the host of a virtual machine past every network.
# Stopped by: seccomp
# %%
import socket

try:
    host = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
