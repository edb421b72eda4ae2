# Tries: to take back the order by which the kernel ends it together with the zygote.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes

if ctypes.CDLL(None, use_errno=True).prctl(1, 0, 0, 0, 0) == 0:  # PR_SET_PDEATHSIG

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
