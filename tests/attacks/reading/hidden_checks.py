# Tries: to read the hidden checks, and with them what exactly is asked.
# Stopped by: landlock
# %%
import linecache

checks = "".join(linecache.getlines("__COURSE__/tests/hidden/test_01_leaves.py"))
# %%
if "student.make_weight" in checks:
    __RIGHT__
