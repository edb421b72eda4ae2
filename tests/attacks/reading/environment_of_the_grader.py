# Tries: to read the environment of every process there is, among them the grader's.
# Stopped by: landlock
# Without it: another user's environment is closed; with neither it gets through.
# Flags: raw descriptors
# %%
import glob

for path in glob.glob("/proc/[0-9]*/environ"):
    try:
        values = open(path, "rb").read().split(b"\0")
    except OSError:
        continue
    for value in values:
        if value.startswith(b"ANSWER="):
            exec(value[7:])
