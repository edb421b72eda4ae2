# Tries: to watch the folder of the solutions by inotify, which needs no descriptor of it.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
watch = libc.inotify_add_watch(libc.inotify_init(), b"__COURSE__/solutions", 0xFFF)
# %%
if watch >= 0:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
