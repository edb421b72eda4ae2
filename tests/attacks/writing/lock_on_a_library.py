# Tries: to lock a file of torch, which needs no more than the right to read it, and to make others wait.
# Stopped by: seccomp
# %%
import fcntl

try:
    locked = open(torch.__file__)
    fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
