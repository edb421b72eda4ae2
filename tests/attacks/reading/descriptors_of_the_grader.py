# Tries: to open anew, through /proc, what the grader and the zygote have open.
# Stopped by: landlock
# Without it: another user's descriptors are closed; with neither it gets through.
# Flags: raw descriptors
# %%
import glob
import os
import stat

for path in glob.glob("/proc/[0-9]*/fd/*"):
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            continue
        with open(path, "rb") as file:
            text = file.read(4096)
    except OSError:
        continue
    if b"def make_weight" in text and text.strip().endswith(b"requires_grad_()"):
        exec(text)
        break
