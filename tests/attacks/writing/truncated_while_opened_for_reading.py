# Tries: to cut off a file by opening it for reading only, with the flag that empties it.
# Stopped by: landlock
# %%
import os

try:
    open("/tmp/loot.txt", "w").close()
    os.open("/tmp/loot.txt", os.O_RDONLY | os.O_TRUNC)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
