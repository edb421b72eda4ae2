# Tries: to start a program by posix_spawn, which the C library makes of one call.
# Stopped by: seccomp
# Without it: landlock lets no program be executed; with neither it gets through.
# %%
import os

child = os.posix_spawn("/bin/true", ["true"], {})
if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
