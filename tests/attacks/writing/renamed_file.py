# Tries: to rename a file of the grader's.
# Stopped by: seccomp
# Without it: landlock lets no name be made; with neither it gets through.
# %%
import os

try:
    for old, new in (("answer.py", "loot.py"), ("loot.py", "answer.py")):  # and back
        os.rename("__OUTSIDE__/" + old, "__OUTSIDE__/" + new)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
