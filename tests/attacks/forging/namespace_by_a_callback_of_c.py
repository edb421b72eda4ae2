# Tries: to be given the namespace of the grader's code by globals(), which the death of an object calls there.
# Stopped by: captured
# Without it: an answer that only looks at what it finds earns nothing.
# Question: 03_truncated_bptt q2
# Flags: frames
# %%
import collections
import weakref

found, kept = collections.defaultdict(globals), []

class Mark:
    pass

def repackage(state):
    for names in found.values():
        if "_is_default" in names:
            names["_is_default"] = lambda *_: True
    if isinstance(state, torch.Tensor):
        result = state.data
        result.mark = Mark()
        kept.append(weakref.ref(result.mark, found.__getitem__))
        hash(kept[-1])  # it needs the object, and is remembered
        return result
    return None if state is None else type(state)(repackage(part) for part in state)
