# Tries: to move an inherited file into a pipe inside the kernel, and to read it there.
# Stopped by: seccomp
# Without it: no file is inherited, and landlock opens none; with clean start off as well it gets through.
# Flags: raw descriptors
# %%
import contextlib
import os

reading, writing = os.pipe()
for number in range(1024):
    if number in (reading, writing):
        continue
    with contextlib.suppress(OSError):
        if os.sendfile(writing, number, 0, 4096):
            text = os.read(reading, 4096)
            if b"make_weight" in text:
                exec(text)
