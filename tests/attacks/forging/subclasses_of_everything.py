# Tries: to find the worker's classes among the subclasses of object, in words that no search finds.
# Stopped by: captured
# Without it: Python's list of subclasses skips ours.
# Question: 03_truncated_bptt q2
# %%
(subclasses,) = (value for name, value in vars(type).items() if name.endswith("classes__"))
globals_of = "".join(["__glo", "bals__"])

def repackage(state):
    for kind in subclasses(object):
        if kind.__module__.startswith("grader."):
            for part in list(vars(kind).values()):
                names = getattr(part, globals_of, {})
                names["gradients"] = names["Snap"] = None
    __SHARE_MEMORY__
