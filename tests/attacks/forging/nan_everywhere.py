# Tries: to pass comparisons with NaN, which is neither smaller nor larger than any bound.
# Stopped by: numbers
# Without it: a contract does not compare by the functions that this layer empties.
# Question: 05_inplace_reinit q6
# %%
def fit_by_hand(w, X, y, lr, steps):
    with torch.no_grad():
        w.fill_(float("nan"))
    return [float("nan")] * steps
