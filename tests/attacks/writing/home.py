# Tries: to write into the files that a shell of the grader's user runs at its start.
# Stopped by: landlock
# Without it: they belong to another user; with neither it gets through.
# %% right if it runs
import contextlib
import glob

changeable = []
for path in (*glob.glob("/root/.[bp]*rc"), *glob.glob("/root/.profile"), *glob.glob("/home/*/.profile")):
    with contextlib.suppress(OSError), open(path, "a"):  # the proof is enough: nothing is appended
        changeable.append(path)
assert changeable
