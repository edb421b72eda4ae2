# Tries: to change the result after it was looked at, by a weak reference that calls when a snap goes.
# Stopped by: process
# Without it: an expected value in the same process could be reached in the same way.
# Question: 01_leaves q1
# %%
import weakref

kept = []

def make_weight(n, m, scale):
    w = torch.zeros(n, m, requires_grad=True)
    right = torch.randn(n, m, generator=torch.Generator().manual_seed(0))

    def heal(_):
        with torch.no_grad():
            w.copy_(right)

    marker = torch.zeros(1)
    kept.append(weakref.ref(marker, heal))
    w.marker = marker
    return w
