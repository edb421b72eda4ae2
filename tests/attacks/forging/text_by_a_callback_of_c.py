# Tries: to be given that namespace by a text that eval() executes there.
# Stopped by: captured
# Without it: an answer that only looks at what it finds earns nothing.
# Question: 03_truncated_bptt q2
# Flags: imports at run time
# %%
import collections
import functools
import weakref

TEXT = "globals()"
found, kept = collections.defaultdict(functools.partial(eval, TEXT)), []

class Mark:
    pass

def repackage(state):
    for names in found.values():
        if "_is_default" in names:
            kept.append(names)
    if isinstance(state, torch.Tensor):
        result = state.data
        result.mark = Mark()
        kept.append(weakref.ref(result.mark, found.__getitem__))
        hash(kept[-1])  # it needs the object, and is remembered
        return result
    return None if state is None else type(state)(repackage(part) for part in state)
