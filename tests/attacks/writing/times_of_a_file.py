# Tries: to change the time of a file that it may write by its bits, so that it seems handed in earlier.
# Stopped by: seccomp
# %%
import os

try:
    os.utime("__OUTSIDE__/answer.py")
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
