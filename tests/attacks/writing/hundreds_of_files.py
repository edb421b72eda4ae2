# Tries: to use up the disk's inodes with as many empty files as it can make.
# Stopped by: landlock
# %%
import os

for number in range(500):
    os.close(os.open(f"__OUTSIDE__/writable/loot-{number}", os.O_WRONLY | os.O_CREAT))
# %%
if number == 499:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
