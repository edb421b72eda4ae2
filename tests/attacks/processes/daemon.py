# Tries: to leave a process behind in a session of its own, whose parent is gone.
# Stopped by: seccomp
# Flags: raw descriptors
# %%
import os
import time

try:
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writing, b"here")
            time.sleep(0.5)
        os._exit(0)
    os.read(reading, 4)
except OSError as error:
    print(error)
else:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
