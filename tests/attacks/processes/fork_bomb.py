# Tries: to fill the machine with processes.
# Stopped by: seccomp
# %%
import os
import time

try:
    children = []
    for _ in range(40):  # enough to show it
        children.append(os.fork())
        if children[-1] == 0:
            time.sleep(0.2)
            os._exit(0)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
