# Tries: to kill another process through a descriptor of it.
# Stopped by: seccomp
# Without it: landlock's scope ends at this process, and the other is another user's; with all three away it
#   gets through.
# %%
import os
import signal

try:
    signal.pidfd_send_signal(os.pidfd_open(__NEIGHBOUR__), signal.SIGKILL)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
