# Tries: to leave a file in a folder where everybody may write.
# Stopped by: landlock
# %%
open("__OUTSIDE__/writable/loot.txt", "w").close()
# %%
import os

if os.path.exists("__OUTSIDE__/writable/loot.txt"):

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
