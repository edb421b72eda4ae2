# Tries: to leave a file in /tmp by the means that Python offers for it.
# Stopped by: landlock
# %%
import tempfile

left = tempfile.mkstemp(prefix="loot-", dir="/tmp")

# %%
if left:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
