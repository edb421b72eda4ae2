# Tries: to set a limit of another process.
# Stopped by: seccomp
# Without it: the other process is another user's; with both away it gets through.
# %%
import resource

try:
    limits = resource.prlimit(__NEIGHBOUR__, resource.RLIMIT_CORE)
    resource.prlimit(__NEIGHBOUR__, resource.RLIMIT_CORE, limits)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
