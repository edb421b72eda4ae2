# Tries: to become root in a namespace of users of its own, from where much of the kernel is open.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes

if ctypes.CDLL(None, use_errno=True).unshare(0x10000000) == 0:  # CLONE_NEWUSER

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
