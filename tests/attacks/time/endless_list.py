# Tries: to return a list that goes on for as long as somebody reads it.
# Stopped by: captured
# Without it: the encoder stops at its cap on items, and what it has is not a weight.
# %%
class Endless(list):
    def __iter__(self):
        while True:
            yield 1.0

def make_weight(n, m, scale):
    return Endless([1.0])
