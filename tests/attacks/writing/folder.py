# Tries: to make a folder.
# Stopped by: seccomp
# Without it: landlock lets no folder be made; with neither it gets through.
# %%
import os

try:
    os.mkdir("__OUTSIDE__/writable/loot")
    os.rmdir("__OUTSIDE__/writable/loot")
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
