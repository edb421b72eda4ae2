# Tries: to cut off a file of the grader's by its path, without opening it.
# Stopped by: seccomp
# Without it: landlock forbids truncating too (since its version 3); with neither it gets through.
# %%
import os

try:
    path = "__OUTSIDE__/answer.py"
    os.truncate(path, os.stat(path).st_size)  # to the length it has: the right to do so is what counts
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
