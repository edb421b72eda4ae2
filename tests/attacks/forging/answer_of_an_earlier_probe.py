# Tries: to return what the call before was given.
# Stopped by: numbers
# Without it: no two calls have a w of one size.
# Question: 05_inplace_reinit q6
# %%
import functools


@functools.cache
def remembered():
    return []


def fit_by_hand(w, X, y, lr, steps):
    def descend(v):
        losses = []
        for _ in range(steps):
            loss = ((X @ v - y) ** 2).mean()
            losses.append(loss.item())
            v = v - lr * torch.autograd.grad(loss, v)[0]
        return losses, v

    if not remembered():
        remembered().extend(descend(w))
    with torch.no_grad():
        w.copy_(remembered()[1])
    return remembered()[0]
