# Tries: to slow down all processes of its user, other students' workers among them.
# Stopped by: seccomp
# %%
import os

try:
    os.setpriority(os.PRIO_USER, os.getuid(), 1)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
