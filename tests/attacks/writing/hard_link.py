# Tries: to give a file of the grader's a second name, which outlives the first.
# Stopped by: seccomp
# Without it: landlock lets no name be made; with neither it gets through.
# %%
import os

try:
    os.link("__OUTSIDE__/answer.py", "__OUTSIDE__/writable/loot.py")
    os.unlink("__OUTSIDE__/writable/loot.py")
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
