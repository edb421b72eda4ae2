# Tries: to leave a module in site-packages that Python would run at its next start.
# Stopped by: landlock
# Without it: the folder belongs to another user; with neither it gets through.
# %%
import os
import sysconfig

try:
    # Without a name, so that none is left: the right to make a file there is what counts.
    os.open(sysconfig.get_path("purelib"), os.O_RDWR | os.O_TMPFILE, 0o600)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
