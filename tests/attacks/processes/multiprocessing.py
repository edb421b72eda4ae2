# Tries: to compute in a process of the standard library's own making.
# Stopped by: seccomp
# %%
import multiprocessing

try:
    process = multiprocessing.get_context("fork").Process(target=int)
    process.start()
    process.join()
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
