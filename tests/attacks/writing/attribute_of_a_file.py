# Tries: to leave a message in an extended attribute, where neither content nor time of the file tells of it.
# Stopped by: seccomp
# %%
import os

try:
    os.setxattr("__OUTSIDE__/answer.py", "user.loot", b"message")
    os.removexattr("__OUTSIDE__/answer.py", "user.loot")
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
