# Tries: to kill every process it may.
# Stopped by: seccomp
# Without it: not tried, it would end the whole machine where the other layers are missing too.
# Flags: leaving the process
# %%
import os

try:
    os.kill(-1, 9)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
