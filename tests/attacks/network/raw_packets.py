# Tries: to write packets itself, with whatever sender it likes.
# Stopped by: seccomp
# Without it: only root may; with both away it gets through.
# %%
import socket

try:
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
