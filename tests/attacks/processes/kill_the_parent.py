# Tries: to reach the zygote by a signal, here one that does no harm.
# Stopped by: seccomp
# Without it: landlock's scope ends at this process, and the zygote is another user's; with all three away it
#   gets through.
# Flags: leaving the process
# %%
import os
import signal

try:
    os.kill(os.getppid(), signal.SIGCONT)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
