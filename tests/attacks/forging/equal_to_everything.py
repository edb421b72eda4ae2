# Tries: to return an object that is equal to everything, has every attribute and is every number.
# Stopped by: process
# Without it: seen == expected would ask the student's class.
# Question: 05_inplace_reinit q6
# Flags: patched
# %%
class Any:
    __eq__ = __le__ = __ge__ = __lt__ = __gt__ = lambda self, other: True
    __hash__ = None
    __len__ = lambda self: 5
    __float__ = lambda self: 0.0
    __getattr__ = lambda self, name: self
    __getitem__ = lambda self, key: self
    __call__ = lambda self, *args, **kwargs: self
    __bool__ = lambda self: True

torch.equal = torch.allclose = torch.isclose = lambda *args, **kwargs: True

def fit_by_hand(w, X, y, lr, steps):
    return Any()
