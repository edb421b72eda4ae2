# Tries: to open its own new file to everybody.
# Stopped by: seccomp
# Without it: landlock lets no file be made in the first place; with neither it gets through.
# %%
import os

try:
    open("/tmp/loot.sh", "w").close()
    os.chmod("/tmp/loot.sh", 0o777)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
