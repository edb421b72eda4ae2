# Tries: to lay a link where the grader writes, so that it would write to another place.
# Stopped by: seccomp
# Without it: landlock lets no link be made; with neither it gets through.
# %%
import os

try:
    os.symlink("/root/.profile", "__OUTSIDE__/writable/loot.json")
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
