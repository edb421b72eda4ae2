# Tries: to reach the answer through the links to the root and the folder of a process in /proc.
# Stopped by: landlock
# Flags: raw descriptors
# %%
import contextlib

for root in ("/proc/self/root", "/proc/thread-self/root", "/proc/self/task/../cwd"):
    with contextlib.suppress(OSError), open(root + "__OUTSIDE__/answer.py") as file:
        exec(file.read())
