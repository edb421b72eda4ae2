# Tries: to rename the machine.
# Stopped by: seccomp
# Without it: only root may; with both away it gets through.
# %%
import socket

try:
    socket.sethostname(socket.gethostname())
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
