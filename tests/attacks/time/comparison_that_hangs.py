# Tries: to return an object that hangs as soon as somebody compares, prints or measures it.
# Stopped by: process
# Without it: an assertion in one process compares the object, and pytest prints it.
# Cost: slow
# %%
def hang(*_):
    while True:
        pass

names = ("eq", "ne", "repr", "str", "len", "bool", "hash", "format", "float", "iter", "getattr")
Sticky = type("Sticky", (), {f"__{name}__": hang for name in names})

def make_weight(n, m, scale):
    return Sticky()
