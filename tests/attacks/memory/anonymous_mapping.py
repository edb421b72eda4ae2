# Tries: to take a gigabyte and a half from the kernel, past every allocator.
# Stopped by: limits
# %%
import mmap

memory = mmap.mmap(-1, 3 << 29)
# %%
def make_weight(n, m, scale):
    memory[0] = 1
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
