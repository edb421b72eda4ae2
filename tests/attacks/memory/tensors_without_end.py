# Tries: to take a gigabyte of memory by tensors.
# Stopped by: limits
# %% right if it runs
hoard = [torch.empty(16 << 20) for _ in range(16)]
