# Tries: to be traced by the zygote, which would then have to let every signal pass, also the one that kills.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes

if ctypes.CDLL(None, use_errno=True).ptrace(0, 0, None, None) == 0:  # PTRACE_TRACEME

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
