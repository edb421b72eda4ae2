# Tries: to take a gigabyte and a half from the kernel, past every allocator.
# Stopped by: limits
# %% right if it runs
import mmap

mmap.mmap(-1, 3 << 29)[0] = 1
