# Tries: to make a process of its own.
# Stopped by: seccomp
# %%
import os

try:
    child = os.fork()
    if child == 0:
        os._exit(0)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
