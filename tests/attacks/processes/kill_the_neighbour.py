# Tries: to kill another process.
# Stopped by: seccomp
# Without it: landlock's scope ends at this process, and the other is another user's; with all three away it
#   gets through.
# Flags: leaving the process
# %%
import os

try:
    os.kill(__NEIGHBOUR__, 9)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
