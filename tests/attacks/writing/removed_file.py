# Tries: to remove the socket at which others want to connect, from a folder where everybody may write.
# Stopped by: seccomp
# Without it: landlock lets no file be made or removed; with neither it gets through.
# %%
import os

try:
    path = "__OUTSIDE__/writable/loot.pid"
    open(path, "w").close()
    os.unlink(path)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
