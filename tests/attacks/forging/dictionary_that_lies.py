# Tries: to return a dictionary whose methods answer otherwise than what it holds.
# Stopped by: process
# Without it: seen["c"] would ask the student's class, which knows what is expected there.
# Question: 01_leaves q3
# %%
class Answers(dict):
    def __getitem__(self, name):
        return self.get(name)

    def get(self, name, default=None):
        return Same()

class Same:
    shape = property(lambda self: self)
    dtype = property(lambda self: self)
    __eq__ = lambda self, other: True
    __hash__ = None

def all_grads(a, b, d):
    return Answers(dict.fromkeys("abcdeo"))
