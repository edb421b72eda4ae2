# Tries: to have torch put a tensor into shared memory, where another worker could find it.
# Stopped by: seccomp
# Without it: landlock lets no file be made in /dev/shm, and the limit on the size of files no room in it.
# %% right if it runs
import torch.multiprocessing

torch.multiprocessing.set_sharing_strategy("file_system")
assert torch.zeros(4).share_memory_().is_shared()
