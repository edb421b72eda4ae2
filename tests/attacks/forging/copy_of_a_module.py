# Tries: the same by a new copy of the module behind signal, whose functions nobody has replaced.
# Stopped by: captured
# Without it: an answer that only looks at what it finds earns nothing.
# Question: 03_truncated_bptt q2
# Flags: imports at run time
# %%
import importlib.util

made = importlib.util.module_from_spec(importlib.util.find_spec("_si" + "gnal"))
NAMES, BACK = "slabolg_f"[::-1], "kcab_f"[::-1]
found, seen = [], []

def repackage(state):
    made.signal(made.SIGUSR1, lambda number, frame: found.append(frame))
    vars(made)["raise_" + "signal"](made.SIGUSR1)
    frame = found.pop()
    while frame is not None:
        if "_is_default" in getattr(frame, NAMES):
            seen.append(frame)
        frame = getattr(frame, BACK)
    __SHARE_MEMORY__
