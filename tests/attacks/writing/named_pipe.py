# Tries: to make a named pipe, at which whoever opens it waits for ever.
# Stopped by: seccomp
# Without it: landlock lets no pipe be made; with neither it gets through.
# %%
import os

try:
    os.mkfifo("__OUTSIDE__/writable/loot.ipynb")
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
