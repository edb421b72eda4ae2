# Tries: to raise an error whose text raises another, and so on.
# Stopped by: captured
# Without it: an error without a text is one all the same.
# %%
class Worse(Exception):
    def __str__(self):
        raise Worse

    __repr__ = __str__

def make_weight(n, m, scale):
    raise Worse
