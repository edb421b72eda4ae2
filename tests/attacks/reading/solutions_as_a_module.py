# Tries: to import the master of the assignment, in which the answer stands, as a module.
# Stopped by: landlock
# Flags: builtins, imports at run time
# %%
import builtins
import importlib
import sys

sys.path.insert(0, "__COURSE__/solutions")
importlib.invalidate_caches()
builtins.xray = lambda **_: None  # which notebooks give to the master's demonstrations
make_weight = importlib.import_module("01_leaves").make_weight
