# Tries: to pass comparisons with NaN, which is neither smaller nor larger than any bound.
# Stopped by: numbers
# Without it: losses of float64 are compared to their last digits by themselves, too.
# Question: 05_inplace_reinit q6
# %%
def fit_by_hand(w, X, y, lr, steps):
    with torch.no_grad():
        w.fill_(float("nan"))
    return [float("nan")] * steps
