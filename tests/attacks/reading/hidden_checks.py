# Tries: to read the hidden checks, and with them what exactly is asked.
# Stopped by: landlock
# %% right if it runs
import linecache

assert "make_weight" in "".join(linecache.getlines("__COURSE__/tests/hidden/test_01_leaves.py"))
